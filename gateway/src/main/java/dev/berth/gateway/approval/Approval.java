package dev.berth.gateway.approval;

import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A call that waits for a person, or did.
 *
 * @param session empty for a call in a computer of its own
 * @param operation of the contract, with the parameters of its path and its body, to be made again
 * @param run of an agent that asks by itself; then there is no call to make, and the body is what its tool is given
 * @param title what it wants to do, in one line
 * @param status of HTTP, of what the call was answered with
 */
record Approval(
        String id,
        String tenant,
        Optional<String> session,
        String tool,
        String operation,
        Map<String, String> path,
        ObjectNode body,
        String requestId,
        State state,
        String requestedBy,
        Instant requestedAt,
        Instant expiresAt,
        Optional<String> decidedBy,
        Optional<Instant> decidedAt,
        Optional<String> reason,
        Optional<String> run,
        Optional<String> title,
        int status,
        @Nullable JsonNode result) {

    /** Whether nothing will change any more. */
    boolean ended() {
        return state.ended() || (run.isPresent() && state == State.APPROVED);
    }

    enum State {
        PENDING,
        APPROVED,
        RUNNING,
        DONE,
        DENIED,
        EXPIRED,
        FAILED;

        static State parse(String name) {
            return valueOf(name.toUpperCase(Locale.ROOT));
        }

        private boolean ended() {
            return switch (this) {
                case PENDING, APPROVED, RUNNING -> false;
                case DONE, DENIED, EXPIRED, FAILED -> true;
            };
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
