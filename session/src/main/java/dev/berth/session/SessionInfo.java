package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxId;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A session as its row says it is.
 *
 * @param version raised by every change of state
 * @param revision raised by every change of what is here but of when it was used last, so that of two the later is known
 * @param location of the provider that has the sandbox
 * @param turn how many turns the conversation had
 * @param agentSessionId the agent's own name for the conversation
 * @param loss what was lost and has not yet been {@linkplain Session#lossTold() told}
 * @param resumeFailCount how often in a row it could not be brought up
 * @param retryAt before this it is not tried again
 * @param mounts volumes among its files
 * @param expiry what was said of its end when it was made
 * @param expiresAt when its end comes if nobody puts it off; none for one that is not up
 */
public record SessionInfo(
        SessionKey key,
        SessionState state,
        long version,
        long revision,
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
        Map<String, String> metadata,
        Optional<Expiry> expiry,
        Optional<Instant> expiresAt,
        Map<String, String> surface,
        List<Mount> mounts,
        Times times) {

    /** Whether it is there and nobody has asked for it to be removed. */
    public boolean exists() {
        return state != SessionState.DESTROYED && state != SessionState.DELETING && !deleteRequested;
    }

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
