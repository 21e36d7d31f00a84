package dev.berth.session;

import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * A checkpoint that outlives the session it was taken of, with what that session was like.
 *
 * @param id 20 random characters of a-z and 0-9
 * @param session that it was taken of; it may be gone
 * @param name unique among those of the tenant
 * @param location of the provider that has it
 * @param checkpoint the provider's name for it
 * @param diskBytes what the session's files took when it was taken
 */
public record KeptCheckpoint(
        String id,
        SessionKey session,
        Optional<String> name,
        String location,
        CheckpointId checkpoint,
        String template,
        Limits limits,
        Map<String, String> env,
        Network network,
        long diskBytes,
        Instant createdAt) {

    /** What a session is made by that is to be like the one this was taken of, and otherwise as {@code other} says. */
    public SessionSpec over(SessionSpec other) {
        return other.withTemplate(template).withLimits(limits).withEnv(env).withNetwork(network);
    }
}
