package dev.berth.sandbox;

import dev.berth.sandbox.Destination.Cidr;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Tells the addresses of the public internet from those that lead to this machine, its neighbours or nowhere. */
public final class PublicAddresses {
    /**
     * What IANA's registries of special-purpose addresses hold not to be globally reachable, multicast, and where cloud
     * providers answer with credentials to whoever asks, some of which lies in public space.
     */
    public static final List<Cidr> CLOSED = Stream.of(
                    "0.0.0.0/8",
                    "10.0.0.0/8",
                    "100.64.0.0/10",
                    "127.0.0.0/8",
                    "168.63.129.16/32",
                    "169.254.0.0/16",
                    "172.16.0.0/12",
                    "192.0.0.0/24",
                    "192.0.2.0/24",
                    "192.88.99.0/24",
                    "192.168.0.0/16",
                    "198.18.0.0/15",
                    "198.51.100.0/24",
                    "203.0.113.0/24",
                    "224.0.0.0/4",
                    "240.0.0.0/4",
                    "::/96",
                    "64:ff9b:1::/48",
                    "100::/64",
                    "2001::/23",
                    "2001:db8::/32",
                    "3fff::/20",
                    "5f00::/16",
                    "fc00::/7",
                    "fe80::/10",
                    "fec0::/10",
                    "ff00::/8")
            .map(text -> (Cidr) Destination.parse(text))
            .toList();

    private PublicAddresses() {}

    public static boolean contains(InetAddress address) {
        InetAddress real = unwrapped(address);
        if (real instanceof Inet6Address six && (six.getAddress()[0] & 0xe0) != 0x20) {
            return false; // nothing but 2000::/3 was ever given out
        }
        return CLOSED.stream().noneMatch(range -> range.contains(real));
    }

    /** The IPv4 address in an IPv6 one that only stands for it: 6to4 and NAT64 lead to where it does. */
    public static InetAddress unwrapped(InetAddress address) {
        if (!(address instanceof Inet6Address six)) {
            return address;
        }
        byte[] bytes = six.getAddress();
        boolean mapped = bytes[10] == -1 && bytes[11] == -1 && zero(bytes, 0, 10);
        boolean nat64 = bytes[0] == 0 && bytes[1] == 0x64 && bytes[2] == -1 && bytes[3] == -101 && zero(bytes, 4, 12);
        boolean sixToFour = bytes[0] == 0x20 && bytes[1] == 2;
        if (mapped || nat64) {
            return four(Arrays.copyOfRange(bytes, 12, 16));
        }
        return sixToFour ? four(Arrays.copyOfRange(bytes, 2, 6)) : address;
    }

    private static boolean zero(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return true;
    }

    private static InetAddress four(byte[] bytes) {
        try {
            return Inet4Address.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("four bytes are an address", e);
        }
    }
}
