package dev.berth.gateway.webhook;

import dev.berth.sandbox.SandboxException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.Locale;

/**
 * An address that a tenant wants to be called, and the one that its name stands for now. It is checked when it is given
 * and again for every call, and the call goes to the address that was checked: a name that stands for something else a
 * moment later leads nowhere.
 */
record Target(URI url, InetAddress address) {
    private static final int HTTPS = 443;
    private static final int HTTP = 80;

    /** @throws SandboxException {@code invalid} if it may not be called */
    static Target of(String text, boolean privateAddresses) {
        URI url = parse(text);
        InetAddress[] addresses;
        try {
            addresses = InetAddress.getAllByName(host(url));
        } catch (UnknownHostException e) {
            throw SandboxException.invalid("the host of the webhook's url is not known; check its name");
        }
        for (InetAddress address : addresses) {
            if (!privateAddresses && !isPublic(address)) {
                throw SandboxException.invalid("the webhook's url leads to an address that is not public; take one that"
                        + " is, or ask the operator to allow webhooks.private-addresses");
            }
        }
        return new Target(url, addresses[0]);
    }

    private static URI parse(String text) {
        try {
            URI url = new URI(text);
            String scheme = String.valueOf(url.getScheme()).toLowerCase(Locale.ROOT);
            if ((scheme.equals("https") || scheme.equals("http"))
                    && url.getHost() != null
                    && url.getRawUserInfo() == null
                    && url.getRawFragment() == null) {
                return url;
            }
        } catch (URISyntaxException e) {
            // told below
        }
        throw SandboxException.invalid(
                "the webhook's url has to be like https://host.example/path, without user, password or fragment");
    }

    private static String host(URI url) {
        String host = url.getHost();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    String host() {
        return host(url);
    }

    boolean secure() {
        return url.getScheme().equalsIgnoreCase("https");
    }

    int port() {
        return url.getPort() >= 0 ? url.getPort() : secure() ? HTTPS : HTTP;
    }

    /** For the Host header. */
    String authority() {
        return url.getPort() >= 0 ? url.getHost() + ":" + url.getPort() : url.getHost();
    }

    String pathAndQuery() {
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        return url.getRawQuery() == null ? path : path + "?" + url.getRawQuery();
    }

    /** By IANA's registries of special-purpose addresses. */
    static boolean isPublic(InetAddress address) {
        if (address.isLoopbackAddress()
                || address.isAnyLocalAddress()
                || address.isLinkLocalAddress()
                || address.isSiteLocalAddress()
                || address.isMulticastAddress()) {
            return false;
        }
        byte[] b = address.getAddress();
        int first = Byte.toUnsignedInt(b[0]);
        int second = Byte.toUnsignedInt(b[1]);
        if (address instanceof Inet6Address) {
            boolean global = (first & 0xE0) == 0x20;
            boolean tunnel = first == 0x20 && second == 0x02; // 6to4 has an IPv4 address inside
            boolean special = first == 0x20 && second == 0x01 && b[2] == 0 && (b[3] & 0xFE) == 0; // Teredo, benchmarks
            return global && !tunnel && !special;
        }
        return first != 0
                && first < 240
                && !(first == 100 && second >= 64 && second < 128)
                && !(first == 192 && second == 0 && (b[2] == 0 || b[2] == 2))
                && !(first == 198 && (second == 18 || second == 19));
    }
}
