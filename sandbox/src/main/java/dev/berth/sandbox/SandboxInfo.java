package dev.berth.sandbox;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * What is known of a sandbox without asking it.
 *
 * @param template the template its files began as, with version
 * @param runtime what isolates it, such as {@code crun}
 * @param parent the checkpoint it was made from, or last rolled back to
 */
public record SandboxInfo(
        SandboxId id,
        SandboxState state,
        String template,
        String runtime,
        Limits limits,
        Map<String, String> labels,
        Optional<CheckpointId> parent,
        Instant createdAt) {}
