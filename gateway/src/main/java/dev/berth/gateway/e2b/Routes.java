package dev.berth.gateway.e2b;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Which action answers which method and path, such as {@code GET /sandboxes/{sandboxID}}. */
public final class Routes {
    /** Answers a call, by writing to it or by throwing. */
    public interface Action {
        void answer(Call call) throws Exception;
    }

    private record Route(String method, List<String> segments, Action action, int mostJson) {
        Optional<Map<String, String>> match(List<String> path) {
            if (path.size() != segments.size()) {
                return Optional.empty();
            }
            Map<String, String> parameters = new HashMap<>();
            for (int i = 0; i < path.size(); i++) {
                String expected = segments.get(i);
                if (expected.startsWith("{")) {
                    if (path.get(i).isEmpty()) {
                        return Optional.empty();
                    }
                    parameters.put(expected.substring(1, expected.length() - 1), path.get(i));
                } else if (!expected.equals(path.get(i))) {
                    return Optional.empty();
                }
            }
            return Optional.of(parameters);
        }
    }

    private static final Pattern VERSION = Pattern.compile("v[0-9]");

    private final List<Route> routes = new ArrayList<>();
    private int mostJson = Call.MOST_JSON;

    /** The routes that are said from now on take JSON of so many bytes. */
    Routes taking(int mostBytes) {
        mostJson = mostBytes;
        return this;
    }

    /** Of two routes that match a path, the one that was said first answers. */
    public Routes on(String method, String path, Action action) {
        routes.add(new Route(method, segments(path), action, mostJson));
        return this;
    }

    /** Whether a path is E2B's: what begins as a route does and is none is answered as E2B answers it. */
    boolean own(String path) {
        String first = beginning(segments(path));
        return routes.stream().anyMatch(route -> beginning(route.segments()).equals(first));
    }

    /** The first word of a path, behind a version if there is one. */
    private static String beginning(List<String> segments) {
        boolean versioned =
                segments.size() > 2 && VERSION.matcher(segments.get(1)).matches();
        return versioned ? segments.get(1) + "/" + segments.get(2) : segments.size() > 1 ? segments.get(1) : "";
    }

    void answer(Call call) throws Exception {
        List<String> path = segments(call.uriPath());
        TreeSet<String> others = new TreeSet<>();
        for (Route route : routes) {
            Optional<Map<String, String>> parameters = route.match(path);
            if (parameters.isPresent() && route.method().equals(call.method())) {
                route.action().answer(call.with(parameters.get(), route.mostJson()));
                return;
            }
            parameters.ifPresent(_ -> others.add(route.method()));
        }
        if (others.isEmpty()) {
            throw new E2bError(404, "no matching operation was found");
        }
        call.header("Allow", String.join(", ", others));
        throw new E2bError(405, "method not allowed");
    }

    private static List<String> segments(String path) {
        String plain = path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        return List.of(plain.split("/", -1));
    }
}
