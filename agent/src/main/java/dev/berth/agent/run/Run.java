package dev.berth.agent.run;

import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.session.SessionKey;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;

/**
 * What an agent does about a message, from when it was given to when nothing more comes of it.
 *
 * @param actor whose message it is
 * @param prompt the message it began with
 * @param attempt 1, or 2 if it was begun again after the agent or its computer was lost
 * @param acted how often the agent has used a tool
 * @param answer what it said after its last tool, as far as it has
 * @param error why it failed, for people
 * @param firstEvent the number of the session's event that it begins with
 */
public record Run(
        String id,
        SessionKey session,
        State state,
        String runtime,
        String actor,
        String prompt,
        int attempt,
        int acted,
        String answer,
        Optional<String> error,
        long firstEvent,
        Instant createdAt,
        Optional<Instant> endedAt) {

    /** How far it has come. */
    public enum State {
        /** The computer and the agent are being brought up. */
        STARTING,
        RUNNING,
        DONE,
        FAILED,
        ABORTED;

        public boolean ended() {
            return compareTo(DONE) >= 0;
        }

        static State of(Outcome outcome) {
            return valueOf(outcome.name());
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
