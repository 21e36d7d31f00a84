/* Device nodes: making them, and those that may lie about. */
#include "attack.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

static int makes(const struct attack *self)
{
	const char *path = own((const char *)self->args[3]);
	int error;

	unlink(path);
	error = result(mknod(path, (mode_t)self->args[0] | 0666, makedev((unsigned)self->args[1], (unsigned)self->args[2])));
	if (error)
		return error;
	/* Making it is one thing; on a mount with nodev, or in a cgroup without the device, it cannot be opened. */
	return result(open(path, O_RDONLY | O_NONBLOCK));
}

#define MAKE(what, kind, major, minor) \
	{ "makes " what, makes, 0, { kind, major, minor, P("/tmp/node") }, { ENXIO } }, \
	{ "makes " what " in /dev/shm", makes, 0, { kind, major, minor, P("/dev/shm/node") }, { ENXIO } }
#define OPEN(path) { "opens " path, NULL, SYS_openat, { AT_FDCWD, P(path), O_RDONLY | O_NONBLOCK }, { ENOENT, ENXIO } }

const struct attack DEVICES[] = {
	MAKE("a node of the memory", S_IFCHR, 1, 1), MAKE("a node of the I/O ports", S_IFCHR, 1, 4), MAKE("a node of the kernel's log", S_IFCHR, 1, 11),
	MAKE("a node of the first disk", S_IFBLK, 8, 0), MAKE("a node of the first virtual disk", S_IFBLK, 254, 0), MAKE("a loop device", S_IFBLK, 7, 0),
	MAKE("a node of FUSE", S_IFCHR, 10, 229), MAKE("a node of KVM", S_IFCHR, 10, 232), MAKE("a whiteout of overlayfs", S_IFCHR, 0, 0),
	OPEN("/dev/mem"), OPEN("/dev/kmem"), OPEN("/dev/port"), OPEN("/dev/kmsg"), OPEN("/dev/sda"), OPEN("/dev/vda"), OPEN("/dev/nvme0n1"), OPEN("/dev/fuse"),
	OPEN("/dev/kvm"), OPEN("/dev/loop-control"), OPEN("/dev/loop0"), OPEN("/dev/net/tun"), OPEN("/dev/mapper/control"), OPEN("/dev/btrfs-control"),
	OPEN("/dev/vhost-net"), OPEN("/dev/vsock"), OPEN("/dev/userfaultfd"), OPEN("/dev/uinput"), OPEN("/dev/console"),
	END,
};
