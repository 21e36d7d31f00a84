package dev.berth.egress.policy;

import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.SandboxException;
import java.net.InetAddress;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A host and port that a program inside has asked for.
 *
 * @param host a name in lower case in its ASCII form, or an address as it is usually written, without brackets
 */
public record Target(String host, int port) {
    /** Only the usual spelling of an address of IPv4; no name looks like that. */
    private static final Pattern FOUR = Pattern.compile("((0|[1-9][0-9]{0,2})\\.){3}(0|[1-9][0-9]{0,2})");

    /** Reads the host and port of a request. Spellings that programs read in different ways are refused. */
    public static Target of(String host, int port) throws Refusal {
        if (port < 1 || port > 65_535) {
            throw new Refusal(Refusal.Reason.BAD_REQUEST, "there is no port " + port);
        }
        String bare = host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
        try {
            boolean literal = bare.indexOf(':') >= 0 || FOUR.matcher(bare).matches();
            if (literal && bare.indexOf('%') < 0) {
                return new Target(InetAddress.ofLiteral(bare).getHostAddress().toLowerCase(Locale.ROOT), port);
            }
            return new Target(Domain.of(bare).name(), port);
        } catch (IllegalArgumentException | SandboxException e) {
            throw new Refusal(Refusal.Reason.BAD_REQUEST, "'" + host + "' is not the name of a host", e);
        }
    }

    /** Reads {@code host:port} or {@code [address]:port}, or either without a port where there is a usual one. */
    public static Target parse(String authority, int usualPort) throws Refusal {
        int colon = authority.lastIndexOf(':');
        boolean bracketed = authority.startsWith("[");
        boolean ported = colon > authority.lastIndexOf(']') && (bracketed || authority.indexOf(':') == colon);
        if (!ported) {
            return of(authority, usualPort);
        }
        String digits = authority.substring(colon + 1);
        if (!digits.matches("[0-9]{1,5}")) {
            throw new Refusal(Refusal.Reason.BAD_REQUEST, "'" + authority + "' is not a host and port");
        }
        return of(authority.substring(0, colon), Integer.parseInt(digits));
    }

    /** Its name, unless it is an address. */
    public Optional<Domain> domain() {
        return address().isPresent() ? Optional.empty() : Optional.of(new Domain(host, false));
    }

    /** Its address, unless it is a name. */
    public Optional<InetAddress> address() {
        return host.indexOf(':') >= 0 || FOUR.matcher(host).matches()
                ? Optional.of(InetAddress.ofLiteral(host))
                : Optional.empty();
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
