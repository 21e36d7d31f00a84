package dev.berth.sandbox.local.network;

import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.netlink.Attributes;
import dev.berth.sandbox.local.netlink.Message;
import dev.berth.sandbox.local.netlink.Netlink;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Interfaces, addresses and ways, as rtnetlink(7) is told and tells of them. Numbers are those of linux/rtnetlink.h. */
final class RouteRequests {
    /** An interface has an index, and a name by which people call it. */
    record Interface(int index, String name) {}

    /**
     * Where packets go.
     *
     * @param range empty for what has no way of its own
     */
    record Way(Optional<String> range, int link) {}

    private static final int NEWLINK = 16;
    private static final int DELLINK = 17;
    private static final int GETLINK = 18;
    private static final int NEWADDR = 20;
    private static final int NEWROUTE = 24;
    private static final int GETROUTE = 26;

    private static final int INET = 2;
    private static final int INET6 = 10;

    private static final int IFINFOMSG = 16;
    private static final int RTMSG = 12;
    private static final int UP = 1;

    private static final int IFLA_IFNAME = 3;
    private static final int IFLA_LINKINFO = 18;
    private static final int IFLA_NET_NS_PID = 19;
    private static final int IFLA_AF_SPEC = 26;
    private static final int IFLA_GROUP = 27;
    private static final int IFLA_INFO_KIND = 1;
    private static final int IFLA_INFO_DATA = 2;
    private static final int VETH_INFO_PEER = 1;
    private static final int IFLA_INET6_ADDR_GEN_MODE = 8;
    private static final byte ADDR_GEN_MODE_NONE = 1;

    private static final int IFA_ADDRESS = 1;
    private static final int IFA_LOCAL = 2;

    private static final int RTA_DST = 1;
    private static final int RTA_OIF = 4;
    private static final int RTA_GATEWAY = 5;
    private static final int MAIN_TABLE = 254;
    private static final int BY_BOOT = 3;
    private static final int UNICAST = 1;
    private static final int EVERYWHERE = 0;
    private static final int ON_LINK = 253;

    private RouteRequests() {}

    /** Makes a pair of interfaces, veth(4), of which one is in the network of a process. */
    static Message pair(String name, int group, String peer, int pid) {
        return Message.of(NEWLINK, Message.ACK | Message.CREATE | Message.EXCLUSIVE, link(0, 0, 0))
                .with(IFLA_IFNAME, name)
                .with(IFLA_GROUP, group)
                .with(
                        IFLA_LINKINFO,
                        info -> info.with(IFLA_INFO_KIND, "veth")
                                .with(
                                        IFLA_INFO_DATA,
                                        data -> data.with(
                                                VETH_INFO_PEER,
                                                other -> other.append(link(0, 0, 0))
                                                        .with(IFLA_IFNAME, peer)
                                                        .with(IFLA_NET_NS_PID, pid))));
    }

    static Message named(int index, String name) {
        return Message.of(NEWLINK, Message.ACK, link(index, 0, 0)).with(IFLA_IFNAME, name);
    }

    /** Without even an address of its own making, there is nothing to send from by IPv6. */
    static Message withoutAddressesOfIpv6(int index) {
        return Message.of(NEWLINK, Message.ACK, link(index, 0, 0))
                .with(
                        IFLA_AF_SPEC,
                        families -> families.with(
                                INET6, six -> six.with(IFLA_INET6_ADDR_GEN_MODE, new byte[] {ADDR_GEN_MODE_NONE})));
    }

    static Message up(int index) {
        return Message.of(NEWLINK, Message.ACK, link(index, UP, UP));
    }

    static Message delete(String name) {
        return Message.of(DELLINK, Message.ACK, link(0, 0, 0)).with(IFLA_IFNAME, name);
    }

    /** Gives an interface an address that it shares with nobody. */
    static Message address(int index, String address) {
        byte[] fixed = Message.structure(8)
                .put((byte) INET)
                .put((byte) 32)
                .put((byte) 0)
                .put((byte) EVERYWHERE)
                .putInt(index)
                .array();
        return Message.of(NEWADDR, Message.ACK | Message.CREATE | Message.EXCLUSIVE, fixed)
                .with(IFA_LOCAL, bytes(address))
                .with(IFA_ADDRESS, bytes(address));
    }

    /** A way to an address, which is right behind an interface. */
    static Message way(int index, String address) {
        return Message.of(NEWROUTE, Message.ACK | Message.CREATE | Message.EXCLUSIVE, route(32, ON_LINK))
                .with(RTA_DST, bytes(address))
                .with(RTA_OIF, index);
    }

    /** The way to everything else. */
    static Message wayOut(int index, String gateway) {
        return Message.of(NEWROUTE, Message.ACK | Message.CREATE | Message.EXCLUSIVE, route(0, EVERYWHERE))
                .with(RTA_GATEWAY, bytes(gateway))
                .with(RTA_OIF, index);
    }

    // ---- what there is -------------------------------------------------------------------------------------------

    /**
     * The interface of this name.
     *
     * @throws ErrnoException ENODEV if there is none
     */
    static int index(Netlink kernel, String name) throws IOException {
        return kernel.list(Message.of(GETLINK, 0, link(0, 0, 0)).with(IFLA_IFNAME, name), IFINFOMSG).stream()
                .map(RouteRequests::seen)
                .findFirst()
                .orElseThrow(() -> new ErrnoException("look for " + name, ErrnoException.ENODEV))
                .index();
    }

    static Map<Integer, String> interfaces(Netlink kernel) throws IOException {
        Map<Integer, String> names = new HashMap<>();
        for (Attributes one : kernel.list(Message.of(GETLINK, Message.DUMP, link(0, 0, 0)), IFINFOMSG)) {
            Interface seen = seen(one);
            names.put(seen.index(), seen.name());
        }
        return names;
    }

    private static Interface seen(Attributes link) {
        return new Interface(link.fixed().getInt(4), link.text(IFLA_IFNAME).orElse(""));
    }

    /** The ways of all tables, for IPv4. */
    static List<Way> ways(Netlink kernel) throws IOException {
        List<Way> ways = new ArrayList<>();
        for (Attributes one : kernel.list(Message.of(GETROUTE, Message.DUMP, route(0, 0)), RTMSG)) {
            int bits = one.fixed().get(1);
            ways.add(new Way(
                    one.bytes(RTA_DST).map(to -> text(to) + "/" + bits),
                    one.number(RTA_OIF).orElse(0)));
        }
        return ways;
    }

    // ---- structures ----------------------------------------------------------------------------------------------

    private static byte[] link(int index, int flags, int change) {
        return Message.structure(IFINFOMSG)
                .putInt(0)
                .putInt(index)
                .putInt(flags)
                .putInt(change)
                .array();
    }

    private static byte[] route(int bits, int scope) {
        return Message.structure(RTMSG)
                .put((byte) INET)
                .put((byte) bits)
                .putShort((short) 0)
                .put((byte) MAIN_TABLE)
                .put((byte) BY_BOOT)
                .put((byte) scope)
                .put((byte) UNICAST)
                .putInt(0)
                .array();
    }

    static byte[] bytes(String address) {
        try {
            return InetAddress.getByName(address).getAddress();
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("'" + address + "' is not an address", e);
        }
    }

    static String text(byte[] address) {
        try {
            return InetAddress.getByAddress(address).getHostAddress();
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(address.length + " bytes are no address", e);
        }
    }
}
