package dev.berth.egress.http;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Which headers are for the next hop only, and go no further. */
final class Headers {
    static final String REFUSED = "X-Berth-Refused";

    /** RFC 9110, 7.6.1, and what frames a message, which is written anew on the other side. */
    private static final Set<String> HOP = Set.of(
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "content-length",
            "http2-settings");

    private static final Set<String> REQUEST = Set.of("host", "expect", "via");
    /** Alt-Svc leads to where the proxy is not; the other one is the proxy's own word. */
    private static final Set<String> RESPONSE = Set.of("alt-svc", "x-berth-refused");

    private Headers() {}

    /** What Connection says is for the next hop too. */
    static Set<String> named(List<String> values) {
        Set<String> names = new HashSet<>();
        for (String value : values) {
            Arrays.stream(value.split(",", -1))
                    .map(name -> name.strip().toLowerCase(Locale.ROOT))
                    .forEach(names::add);
        }
        return names;
    }

    static boolean goesOut(String name, Set<String> named) {
        return goesOn(name, named) && !REQUEST.contains(name.toLowerCase(Locale.ROOT));
    }

    static boolean comesIn(String name, Set<String> named) {
        return goesOn(name, named) && !RESPONSE.contains(name.toLowerCase(Locale.ROOT));
    }

    private static boolean goesOn(String name, Set<String> named) {
        String lower = name.toLowerCase(Locale.ROOT);
        return !HOP.contains(lower) && !lower.startsWith("proxy-") && !named.contains(lower);
    }
}
