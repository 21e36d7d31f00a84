package dev.berth.gateway.e2b;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The port of a sandbox that a request is for. It is told by the name of the host, {@code 8080-ixyz.domain}; headers count
 * only on hosts that are nobody's in particular. On any other, a page of one sandbox could speak to another one in the name
 * of whoever looks at it.
 */
public record Place(String sandbox, int port) {
    /** Where E2B's own daemon listens in their sandboxes; nothing does in ours, the server answers for it. */
    public static final int ENVD = 49_983;

    private static final Pattern HOST = Pattern.compile("([0-9]{1,5})-([a-z0-9]+)(?:-[a-z0-9]+)?\\..+");
    private static final Pattern ID = Pattern.compile("([a-z0-9]{1,64})(?:-[a-z0-9]*)?");
    private static final Pattern SHARED =
            Pattern.compile("localhost|[0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-f:.]+]|sandbox\\..+");

    /** @param host without its port */
    public static Optional<Place> of(String host, Optional<String> idHeader, Optional<String> portHeader) {
        String name = host.toLowerCase(Locale.ROOT);
        Matcher named = HOST.matcher(name);
        if (named.matches()) {
            return port(named.group(1)).map(port -> new Place(named.group(2), port));
        }
        if (idHeader.isEmpty() || !SHARED.matcher(name).matches()) {
            return Optional.empty();
        }
        Optional<Integer> port = portHeader.isEmpty() ? Optional.of(ENVD) : portHeader.flatMap(Place::port);
        return port.flatMap(number -> id(idHeader.get()).map(id -> new Place(id, number)));
    }

    /** An id without the client's id that older ones have behind a dash. */
    static Optional<String> id(String text) {
        Matcher matcher = ID.matcher(text);
        return matcher.matches() ? Optional.of(matcher.group(1)) : Optional.empty();
    }

    private static Optional<Integer> port(String text) {
        int port = text.matches("[0-9]{1,5}") ? Integer.parseInt(text) : 0;
        return port >= 1 && port <= 65_535 ? Optional.of(port) : Optional.empty();
    }
}
