package dev.berth.egress.policy;

import dev.berth.sandbox.Destination.Domain;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Where a secret may go, and where in a request it stands.
 *
 * @param secret its name
 * @param placeholder what the sandbox has in its stead
 * @param hosts that may be given it
 * @param ports of those hosts
 * @param methods empty for all
 * @param paths empty for all, as in a rule of a network
 * @param plain whether it may be sent without TLS too, to addresses that the operator has marked
 */
public record Binding(
        String secret,
        String placeholder,
        List<Domain> hosts,
        List<Integer> ports,
        List<String> methods,
        List<String> paths,
        Place place,
        boolean plain) {

    /** What is between two servers and not of the request, or what the way out has to say itself: RFC 9110, 7.6.1. */
    private static final Set<String> TRAVELLING = Set.of(
            "accept-encoding",
            "connection",
            "content-length",
            "expect",
            "host",
            "keep-alive",
            "max-forwards",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "via");

    /** Where in a request a secret stands. */
    public sealed interface Place {
        /** A header, with {@code {}} where the secret goes: {@code Authorization}, {@code Bearer {}}. */
        record Header(String name, String template) implements Place {}

        /** HTTP basic authentication, with the secret as the password. */
        record Basic(String user) implements Place {}

        /** A parameter in the query of the address. */
        record Query(String name) implements Place {}

        /**
         * A header that every request has, over TLS, whatever the program said. Nothing in the sandbox stands for it, and
         * it opens no way: it is set where the request may go anyway.
         */
        record Set(String name, List<Piece> pieces) implements Place {
            public Set {
                pieces = List.copyOf(pieces);
            }
        }
    }

    /** A part of a header: text as it is, or the secret of that name. */
    public record Piece(String text, boolean secret) {}

    public Binding {
        hosts = List.copyOf(hosts);
        ports = List.copyOf(ports);
        methods = List.copyOf(methods);
        paths = List.copyOf(paths);
    }

    /** Whether a header says how a request travels, so that it can be no place for anything else. */
    public static boolean travels(String header) {
        return TRAVELLING.contains(header.toLowerCase(Locale.ROOT));
    }

    /** Whether its hosts may be reached because it is bound to them. */
    public boolean opens() {
        return !(place instanceof Place.Set);
    }

    public boolean covers(Target target) {
        return ports.contains(target.port())
                && target.domain()
                        .filter(host -> hosts.stream().anyMatch(mine -> mine.covers(host)))
                        .isPresent();
    }

    /**
     * Whether it goes into a request.
     *
     * @param path as it was written. One that a server might read in another way than it is read here does not count as
     *     one of those that the secret is bound to
     */
    public boolean covers(Target target, String method, String path) {
        return covers(target)
                && (methods.isEmpty() || methods.contains(method))
                && (paths.isEmpty() || (!Gate.ambiguous(path) && paths.stream().anyMatch(mine -> matches(mine, path))));
    }

    private static boolean matches(String pattern, String path) {
        return pattern.endsWith("*")
                ? path.startsWith(pattern.substring(0, pattern.length() - 1))
                : path.equals(pattern);
    }
}
