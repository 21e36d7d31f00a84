package dev.berth.sandbox;

import java.net.IDN;
import java.net.InetAddress;
import java.util.Locale;
import java.util.regex.Pattern;

/** Where a sandbox may connect to, as a rule names it: {@code example.com}, {@code *.example.com}, or {@code 10.0.0.0/8}. */
public sealed interface Destination {
    /**
     * A name in the domain name system.
     *
     * @param name in lower case, in its ASCII form, without a dot at the end
     * @param below whether it stands for all names below this one, and not for itself
     */
    record Domain(String name, boolean below) implements Destination {
        private static final Pattern NAME = Pattern.compile(
                "(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)" + "(\\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*");
        /** What a resolver may take for the address of a host: 127.1, 0x7f000001, 2130706433. */
        private static final Pattern NUMERIC = Pattern.compile("(.*\\.)?(0x[0-9a-f]*|[0-9]+)");

        public Domain {
            if (!NAME.matcher(name).matches() || NUMERIC.matcher(name).matches()) {
                throw SandboxException.invalid("'" + name + "' is not a domain name, such as example.com");
            }
            if (below && name.indexOf('.') < 0) {
                throw SandboxException.invalid(
                        "'*." + name + "' stands for a whole top-level domain; name the domains that are meant");
            }
        }

        /** As people and programs write it: in any case, with letters of any script, perhaps with a dot at the end. */
        public static Domain of(String text) {
            String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
            try {
                return new Domain(IDN.toASCII(name).toLowerCase(Locale.ROOT), false);
            } catch (IllegalArgumentException e) {
                throw SandboxException.invalid("'" + text + "' is not a domain name, such as example.com");
            }
        }

        /** Whether it stands for the host that another one names. */
        public boolean covers(Domain host) {
            return below ? host.name.endsWith("." + name) : host.name.equals(name) && !host.below;
        }

        @Override
        public String toString() {
            return below ? "*." + name : name;
        }
    }

    /** The addresses that begin with the same bits. */
    record Cidr(InetAddress address, int bits) implements Destination {
        public Cidr {
            int all = address.getAddress().length * 8;
            if (bits < 0 || bits > all) {
                throw SandboxException.invalid("a range of such addresses has 0 to " + all + " bits, not " + bits);
            }
            if (!address.equals(masked(address, bits))) {
                throw SandboxException.invalid("the range " + address.getHostAddress() + "/" + bits
                        + " has bits beyond its length; write it as "
                        + masked(address, bits).getHostAddress() + "/" + bits);
            }
        }

        /** The range of that length that an address is in. */
        public static Cidr around(InetAddress address, int bits) {
            return new Cidr(masked(address, Math.clamp(bits, 0, address.getAddress().length * 8)), bits);
        }

        /** Any address is in a range of its own kind only; one of IPv4 is never in a range of IPv6. */
        public boolean contains(InetAddress other) {
            return other.getAddress().length == address.getAddress().length
                    && masked(other, bits).equals(address);
        }

        public boolean contains(Cidr other) {
            return other.bits >= bits && contains(other.address);
        }

        private static InetAddress masked(InetAddress address, int bits) {
            byte[] bytes = address.getAddress();
            for (int i = 0; i < bytes.length; i++) {
                int kept = Math.clamp(bits - 8L * i, 0, 8);
                bytes[i] &= (byte) (0xff << (8 - kept));
            }
            try {
                return InetAddress.getByAddress(bytes);
            } catch (java.net.UnknownHostException e) {
                throw new IllegalStateException("it has as many bytes as before", e);
            }
        }

        @Override
        public String toString() {
            return address.getHostAddress() + "/" + bits;
        }
    }

    /** Reads what a person wrote. Names are not looked up. */
    static Destination parse(String text) {
        if (text.isEmpty() || text.length() > 260) {
            throw SandboxException.invalid("a destination is a domain, *.domain or address range");
        }
        int slash = text.indexOf('/');
        String host = slash < 0 ? text : text.substring(0, slash);
        if (slash >= 0 || host.indexOf(':') >= 0 || host.matches("[0-9.]+")) {
            InetAddress address = address(text, host);
            return new Cidr(address, slash < 0 ? address.getAddress().length * 8 : bits(text, slash));
        }
        if (text.startsWith("*.")) {
            return new Domain(Domain.of(text.substring(2)).name(), true);
        }
        if (text.indexOf('*') >= 0) {
            throw SandboxException.invalid(
                    "'" + text + "': a * can only stand in front, for all names below a domain, as in *.example.com");
        }
        return Domain.of(text);
    }

    private static InetAddress address(String text, String host) {
        try {
            // Only the usual spelling: others (127.1, 010.0.0.1) mean different hosts to different programs.
            if (host.indexOf('%') >= 0
                    || (host.indexOf(':') < 0 && !host.matches("((0|[1-9][0-9]{0,2})\\.){3}(0|[1-9][0-9]{0,2})"))) {
                throw new IllegalArgumentException();
            }
            return InetAddress.ofLiteral(host);
        } catch (IllegalArgumentException e) {
            throw SandboxException.invalid(
                    "'" + text + "' is not an address range, such as 10.0.0.0/8 or 2001:db8::/32");
        }
    }

    private static int bits(String text, int slash) {
        try {
            return Integer.parseInt(text.substring(slash + 1));
        } catch (NumberFormatException e) {
            throw SandboxException.invalid("'" + text + "' is not an address range, such as 10.0.0.0/8");
        }
    }
}
