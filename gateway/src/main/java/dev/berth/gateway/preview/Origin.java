package dev.berth.gateway.preview;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Under which address a client sees a port, and what follows from that for the headers that go through. */
public sealed interface Origin permits SharedOrigin, OwnOrigin {
    /** Those of RFC 9110, section 7.6.1, and their relatives: they are about one connection. */
    Set<String> HOP_BY_HOP = names(
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "Proxy-Authenticate",
            "Proxy-Authorization",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade");

    /** What is framing is made anew, and where the client is, is said by this server and by nobody else. */
    Set<String> MADE_ANEW = names(
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

    /** Some names of headers, whose case is of no interest. */
    static Set<String> names(String... names) {
        Set<String> set = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        set.addAll(List.of(names));
        return set;
    }

    /** What a Connection header names, which are then about the connection too. */
    static Set<String> named(List<String> connection) {
        Set<String> names = names();
        for (String value : connection) {
            for (String name : value.split(",")) {
                names.add(name.strip());
            }
        }
        return names;
    }

    /** Whether a request's header goes in, if it is not about the connection and not made anew. */
    boolean mayGoIn(String name);

    /** Whether an answer's header goes out, if it is not about the connection. */
    boolean mayGoOut(String name);

    default boolean goesIn(String name, Set<String> named) {
        return !HOP_BY_HOP.contains(name) && !MADE_ANEW.contains(name) && !named.contains(name) && mayGoIn(name);
    }

    default boolean goesOut(String name, Set<String> named) {
        return !HOP_BY_HOP.contains(name) && !named.contains(name) && mayGoOut(name);
    }

    /** The host that what listens sees as the one that was asked for. */
    String host();

    /** What it is told besides. */
    Map<String, String> toldInside();

    /** The cookies that are for it. */
    Optional<String> cookiesIn(List<String> cookies);

    /** A cookie that it sets. */
    String cookieOut(String cookie);

    /** Where an answer of it sends the client to. */
    String location(String location);

    /** What the client is told besides. */
    Map<String, String> toldOutside();
}
