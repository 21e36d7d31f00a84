package dev.berth.gateway.preview;

import dev.berth.gateway.http.Admission;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which headers go through between a client and what listens in a sandbox, and how they are changed.
 *
 * @param prefix under which the client sees the port, without a slash at its end
 */
record Headers(String prefix, int port) {
    /** Those of RFC 9110, section 7.6.1, and their relatives: they are about one connection. */
    private static final Set<String> HOP_BY_HOP = lower(
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "Proxy-Authenticate",
            "Proxy-Authorization",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade");

    /**
     * Berth's own credentials are for nobody in a sandbox, whatever they are worth; what is framing is made anew; and where
     * the client is, is said by this server and by nobody else.
     */
    private static final Set<String> NOT_IN = lower(
            Admission.AUTHORIZATION,
            Admission.API_KEY,
            "Host",
            "Expect",
            "Content-Length",
            "Cookie",
            "Forwarded",
            "HTTP2-Settings",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-Forwarded-Prefix");

    /**
     * These change how a browser treats the whole origin, which is the API's, and not the sandbox's to speak for. The last
     * ones are set by this server.
     */
    private static final Set<String> NOT_OUT = lower(
            "Alt-Svc",
            "Clear-Site-Data",
            "NEL",
            "Origin-Agent-Cluster",
            "Public-Key-Pins",
            "Report-To",
            "Reporting-Endpoints",
            "Service-Worker-Allowed",
            "Strict-Transport-Security",
            "Content-Length",
            "Date",
            "Referrer-Policy",
            "Set-Cookie",
            "X-Request-Id");

    /** Cookies of a sandbox have this before their names, so that no other cookie of the origin ever gets into one. */
    private static final String COOKIE = "preview-";

    private static Set<String> lower(String... names) {
        Set<String> set = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        set.addAll(List.of(names));
        return set;
    }

    /** Whether a request's header goes in. */
    static boolean goesIn(String name, Set<String> named) {
        return !HOP_BY_HOP.contains(name) && !NOT_IN.contains(name) && !named.contains(name);
    }

    /** Whether an answer's header goes out. */
    static boolean goesOut(String name, Set<String> named) {
        return !HOP_BY_HOP.contains(name) && !NOT_OUT.contains(name) && !named.contains(name);
    }

    /** What a Connection header names, which are then about the connection too. */
    static Set<String> named(List<String> connection) {
        Set<String> names = lower();
        for (String value : connection) {
            for (String name : value.split(",")) {
                names.add(name.strip());
            }
        }
        return names;
    }

    /** The cookies that are the sandbox's own, by the names that it gave them. */
    static Optional<String> cookiesIn(List<String> cookies) {
        List<String> own = new ArrayList<>();
        for (String header : cookies) {
            for (String cookie : header.split(";")) {
                String stripped = cookie.strip();
                if (stripped.startsWith(COOKIE)) {
                    own.add(stripped.substring(COOKIE.length()));
                }
            }
        }
        return own.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", own));
    }

    /**
     * A cookie that a sandbox sets, under the port's own path and for no other host: so that no two sandboxes see each
     * other's.
     */
    String cookieOut(String cookie) {
        String[] parts = cookie.split(";");
        StringBuilder rewritten = new StringBuilder(COOKIE).append(parts[0].strip());
        String path = "/";
        for (int i = 1; i < parts.length; i++) {
            String part = parts[i].strip();
            String[] attribute = part.split("=", 2);
            switch (attribute[0].strip().toLowerCase(Locale.ROOT)) {
                case "path" -> path = attribute.length == 2 ? below(attribute[1].strip()) : "/";
                case "domain", "" -> {}
                default -> rewritten.append("; ").append(part);
            }
        }
        return rewritten.append("; Path=").append(prefix).append(path).toString();
    }

    private static String below(String path) {
        return path.startsWith("/") && !path.contains("/..") ? path : "/";
    }

    /** Where an answer sends the client to, if that is the port itself under the name that it knows of. */
    String location(String location) {
        if (location.startsWith("/") && !location.startsWith("//")) {
            return prefix + location;
        }
        try {
            URI target = new URI(location);
            boolean itself = target.getHost() != null
                    && Set.of("localhost", "127.0.0.1", "[::1]").contains(target.getHost())
                    && (target.getPort() < 0 ? 80 : target.getPort()) == port;
            if (!itself) {
                return location;
            }
            String path = target.getRawPath().isEmpty() ? "/" : target.getRawPath();
            return prefix
                    + path
                    + (target.getRawQuery() == null ? "" : "?" + target.getRawQuery())
                    + (target.getRawFragment() == null ? "" : "#" + target.getRawFragment());
        } catch (URISyntaxException e) {
            return location; // the client may make of it what it can
        }
    }
}
