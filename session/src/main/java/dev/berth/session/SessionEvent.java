package dev.berth.session;

import java.util.Map;
import java.util.TreeMap;

/**
 * Something that happened to a session, as it is written to the log and to the session's events.
 *
 * @param type a dotted name, such as {@code sandbox.resolve.recreate}
 * @param actor who did it: a caller's name, or {@code berth} for what happens by itself
 * @param data facts of it; never the text of a command or a secret
 */
public record SessionEvent(String type, String actor, Map<String, Object> data) {
    public static final String BERTH = "berth";

    public SessionEvent {
        data = Map.copyOf(data);
    }

    public static SessionEvent of(String type) {
        return new SessionEvent(type, BERTH, Map.of());
    }

    public SessionEvent with(String name, Object value) {
        Map<String, Object> more = new TreeMap<>(data);
        more.put(name, value);
        return new SessionEvent(type, actor, more);
    }

    public SessionEvent by(String who) {
        return new SessionEvent(type, who, data);
    }
}
