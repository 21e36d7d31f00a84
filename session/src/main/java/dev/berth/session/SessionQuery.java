package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which sessions to list, page by page, by the time they were made.
 *
 * @param states all but destroyed ones if nothing else is said
 * @param metadata what a session has to have all of
 * @param startedAfter made then or later
 * @param after where the page before ended
 */
public record SessionQuery(
        Optional<String> tenant,
        Optional<String> channel,
        Set<SessionState> states,
        Map<String, String> metadata,
        Optional<String> template,
        Optional<Instant> startedAfter,
        Order order,
        Optional<Cursor> after,
        int limit) {
    private static final int MOST = 1000;

    /** By the time they were made. */
    public enum Order {
        NEWEST_FIRST,
        OLDEST_FIRST
    }

    /** The last session of a page. */
    public record Cursor(Instant createdAt, String id) {
        public static Cursor of(SessionInfo last) {
            return new Cursor(last.times().createdAt(), last.key().id());
        }
    }

    public SessionQuery {
        states = Set.copyOf(states);
        metadata = Map.copyOf(metadata);
        if (states.isEmpty()) {
            throw SandboxException.invalid("say in which states the sessions are to be");
        }
        if (limit < 1 || limit > MOST) {
            throw SandboxException.invalid("a page has 1 to " + MOST + " sessions, not " + limit);
        }
    }

    /** All sessions of a tenant that are not destroyed, the newest first, a hundred to a page. */
    public static SessionQuery of(String tenant) {
        return new SessionQuery(
                Optional.of(tenant),
                Optional.empty(),
                EnumSet.complementOf(EnumSet.of(SessionState.DESTROYED)),
                Map.of(),
                Optional.empty(),
                Optional.empty(),
                Order.NEWEST_FIRST,
                Optional.empty(),
                100);
    }

    public SessionQuery withChannel(String name) {
        return new SessionQuery(
                tenant, Optional.of(name), states, metadata, template, startedAfter, order, after, limit);
    }

    public SessionQuery withStates(Set<SessionState> some) {
        return new SessionQuery(tenant, channel, some, metadata, template, startedAfter, order, after, limit);
    }

    public SessionQuery withMetadata(Map<String, String> all) {
        return new SessionQuery(tenant, channel, states, all, template, startedAfter, order, after, limit);
    }

    public SessionQuery withTemplate(String name) {
        return new SessionQuery(
                tenant, channel, states, metadata, Optional.of(name), startedAfter, order, after, limit);
    }

    public SessionQuery withStartedAfter(Instant moment) {
        return new SessionQuery(tenant, channel, states, metadata, template, Optional.of(moment), order, after, limit);
    }

    public SessionQuery withOrder(Order newOrder) {
        return new SessionQuery(tenant, channel, states, metadata, template, startedAfter, newOrder, after, limit);
    }

    public SessionQuery withAfter(Cursor last) {
        return new SessionQuery(
                tenant, channel, states, metadata, template, startedAfter, order, Optional.of(last), limit);
    }

    public SessionQuery withLimit(int most) {
        return new SessionQuery(tenant, channel, states, metadata, template, startedAfter, order, after, most);
    }
}
