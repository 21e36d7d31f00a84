package dev.berth.session;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * An event of a session's log.
 *
 * @param seq its number in the session, without gaps, in the order in which events became visible
 * @param correlation what ties it to a request
 */
public record LoggedEvent(
        long seq, Instant at, String type, String actor, Optional<String> correlation, Map<String, Object> data) {}
