package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxId;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * A session as its row says it is.
 *
 * @param version raised by every change of state
 * @param location of the provider that has the sandbox
 * @param turn how many turns the conversation had
 * @param agentSessionId the agent's own name for the conversation
 * @param loss what was lost and has not yet been {@linkplain Session#lossTold() told}
 * @param resumeFailCount how often in a row it could not be brought up
 * @param retryAt before this it is not tried again
 */
public record SessionInfo(
        SessionKey key,
        SessionState state,
        long version,
        String provider,
        String location,
        SandboxId sandboxId,
        Optional<String> channel,
        String template,
        Limits limits,
        Network network,
        Map<String, String> env,
        IdlePolicy idle,
        PermissionMode permissionMode,
        boolean pinned,
        boolean deleteRequested,
        int turn,
        boolean autoCheckpoint,
        int keepCheckpoints,
        Optional<String> agentSessionId,
        Optional<Archive> archive,
        Optional<Loss> loss,
        int resumeFailCount,
        Optional<String> lastError,
        Optional<Instant> retryAt,
        long diskBytes,
        long lastEvent,
        Times times) {

    /**
     * Where its packed files are.
     *
     * @param template the one they were packed above, with its version
     */
    public record Archive(String name, String sha256, long bytes, String template) {}

    /** When things happened last. */
    public record Times(
            Instant createdAt,
            Instant updatedAt,
            Instant lastActivityAt,
            Optional<Instant> pausedAt,
            Optional<Instant> resumedAt,
            Optional<Instant> stoppedAt,
            Optional<Instant> archivedAt,
            Optional<Instant> destroyedAt) {}
}
