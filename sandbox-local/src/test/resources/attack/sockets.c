/* Socket families that reach past the network namespace or into rarely used kernel code, and the host's own sockets. */
#include "attack.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connects_to(const struct attack *self)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(address.sun_path, (const char *)self->args[0], sizeof address.sun_path - 1);
	return fd < 0 ? errno : result(connect(fd, (struct sockaddr *)&address, sizeof address));
}

/* Loopback itself needs nothing from a sandbox, so the address is the documentation network's. */
static int sets_address(const struct attack *self)
{
	struct ifreq request = { .ifr_name = "lo" };
	struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)self;
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(0xc0000201);
	return fd < 0 ? errno : result(ioctl(fd, SIOCSIFADDR, &request));
}

static int binds_through(const struct attack *self)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? errno : result(setsockopt(fd, SOL_SOCKET, (int)self->args[0], &(int){ 1 }, sizeof(int)));
}

/* ip_tables(8) is a large surface that the user namespace would open; it hangs on CAP_NET_ADMIN. */
static int reads_tables(const struct attack *self)
{
	char info[84] = "filter";
	socklen_t size = sizeof info;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)self;
	return fd < 0 ? errno : result(getsockopt(fd, 0, 64 /* IPT_SO_GET_INFO */, info, &size));
}

static int types_into_terminal(const struct attack *self)
{
	return result(ioctl(0, (unsigned long)self->args[0], "x"));
}

#define FAMILY(what, family, type, protocol) \
	{ "opens a " what " socket", NULL, SYS_socket, { family, type, protocol }, { EAFNOSUPPORT, EPROTONOSUPPORT } }
#define PAIR(what, family) \
	{ "opens a pair of " what " sockets", NULL, SYS_socketpair, { family, SOCK_SEQPACKET, 0, P(pair) }, { EAFNOSUPPORT } }
#define CONNECT(path) { "connects to " path, connects_to, 0, { P(path) }, { ENOENT } }

static int pair[2];

const struct attack SOCKETS[] = {
	FAMILY("packet", AF_PACKET, SOCK_RAW, 0x0300), FAMILY("raw IP", AF_INET, SOCK_RAW, 255), FAMILY("raw ICMP", AF_INET, SOCK_RAW, 1),
	FAMILY("raw IPv6", AF_INET6, SOCK_RAW, 255), FAMILY("vsock", 40, SOCK_STREAM, 0), FAMILY("kernel crypto", 38, SOCK_SEQPACKET, 0),
	FAMILY("IPsec key", 15, SOCK_RAW, 2), FAMILY("Bluetooth", 31, SOCK_RAW, 1), FAMILY("CAN", 29, SOCK_RAW, 1), FAMILY("TIPC", 30, SOCK_SEQPACKET, 0),
	FAMILY("RDS", 21, SOCK_SEQPACKET, 0), FAMILY("XDP", 44, SOCK_RAW, 0), FAMILY("SMC", 43, SOCK_STREAM, 0), FAMILY("KCM", 41, SOCK_DGRAM, 0),
	FAMILY("NFC", 39, SOCK_SEQPACKET, 0), FAMILY("QIPCRTR", 42, SOCK_DGRAM, 0), FAMILY("AX.25", 3, SOCK_SEQPACKET, 0), FAMILY("X.25", 9, SOCK_SEQPACKET, 0),
	FAMILY("AppleTalk", 5, SOCK_DGRAM, 0), FAMILY("PPPoE", 24, SOCK_STREAM, 0), FAMILY("LLC", 26, SOCK_DGRAM, 0),
	FAMILY("netlink audit", AF_NETLINK, SOCK_RAW, 9), FAMILY("netlink uevent", AF_NETLINK, SOCK_RAW, 15), FAMILY("netfilter", AF_NETLINK, SOCK_RAW, 12),
	FAMILY("netlink IPsec", AF_NETLINK, SOCK_RAW, 6), FAMILY("generic netlink", AF_NETLINK, SOCK_RAW, 16), FAMILY("netlink crypto", AF_NETLINK, SOCK_RAW, 21),
	FAMILY("netlink socket diagnosis", AF_NETLINK, SOCK_RAW, 4), FAMILY("netlink connector", AF_NETLINK, SOCK_RAW, 11),
	PAIR("TIPC", 30), PAIR("Bluetooth", 31), PAIR("CAN", 29), PAIR("RDS", 21),
	{ "gives itself an address", sets_address, 0, { 0 }, { ENOTTY } },
	{ "marks packets for the host's routing", binds_through, 0, { SO_MARK }, { 0 } },
	{ "forces large socket buffers", binds_through, 0, { SO_RCVBUFFORCE }, { ENOPROTOOPT } },
	{ "reads the firewall's tables", reads_tables, 0, { 0 }, { ENOPROTOOPT } },
	{ "types into its terminal by TIOCSTI", types_into_terminal, 0, { 0x5412 }, { ENOTTY } },
	{ "types into the console by TIOCLINUX", types_into_terminal, 0, { 0x541c }, { ENOTTY } },
	CONNECT("/run/docker.sock"), CONNECT("/var/run/docker.sock"), CONNECT("/run/containerd/containerd.sock"), CONNECT("/run/dbus/system_bus_socket"),
	CONNECT("/run/systemd/private"), CONNECT("/run/systemd/journal/socket"), CONNECT("/run/udev/control"), CONNECT("/tmp/.X11-unix/X0"),
	END,
};
