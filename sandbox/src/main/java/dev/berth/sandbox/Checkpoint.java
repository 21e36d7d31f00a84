package dev.berth.sandbox;

import java.time.Instant;
import java.util.Optional;

/**
 * A named point of a sandbox's files.
 *
 * @param sandbox the sandbox it was taken of, which may be gone
 * @param parent the checkpoint before it in the same line of history
 */
public record Checkpoint(
        CheckpointId id, String name, SandboxId sandbox, Optional<CheckpointId> parent, Instant createdAt) {}
