package dev.berth.gateway.preview;

import dev.berth.gateway.http.Admission;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A port under a path of the API's own origin, where everything that a page may do has to be bounded.
 *
 * @param prefix under which the client sees the port, without a slash at its end
 */
record SharedOrigin(String prefix, int port) implements Origin {
    /** Berth's own credentials are for nobody in a sandbox, whatever they are worth. */
    private static final Set<String> NOT_IN = Origin.names(Admission.AUTHORIZATION, Admission.API_KEY);

    /**
     * These change how a browser treats the whole origin, which is the API's, and not the sandbox's to speak for. The last
     * ones are set by this server.
     */
    private static final Set<String> NOT_OUT = Origin.names(
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
            "X-Request-Id");

    /**
     * Without this, a page in a sandbox could act on the API's origin as the person who looks at it: read what scripts of
     * that origin keep, and frame and drive its pages. So pages of previews get an origin of their own, one that equals no
     * other: allow-same-origin is not among what they may.
     */
    private static final String SANDBOX = "sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals";

    /** Cookies of a sandbox have this before their names, so that no other cookie of the origin ever gets into one. */
    private static final String COOKIE = "preview-";

    @Override
    public boolean mayGoIn(String name) {
        return !NOT_IN.contains(name);
    }

    @Override
    public boolean mayGoOut(String name) {
        return !NOT_OUT.contains(name);
    }

    @Override
    public String host() {
        return "localhost:" + port;
    }

    @Override
    public Map<String, String> toldInside() {
        return Map.of("X-Forwarded-Prefix", prefix);
    }

    @Override
    public Map<String, String> toldOutside() {
        // A link's address is all that opens it.
        return Map.of("Content-Security-Policy", SANDBOX, "Referrer-Policy", "no-referrer");
    }

    /** The cookies that are the sandbox's own, by the names that it gave them. */
    @Override
    public Optional<String> cookiesIn(List<String> cookies) {
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
    @Override
    public String cookieOut(String cookie) {
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
    @Override
    public String location(String location) {
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
