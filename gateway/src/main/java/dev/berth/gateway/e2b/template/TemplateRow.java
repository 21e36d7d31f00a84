package dev.berth.gateway.e2b.template;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;

/**
 * A template of a tenant.
 *
 * @param latest the build that was asked for last
 */
record TemplateRow(
        String id,
        String tenant,
        boolean isPublic,
        List<String> aliases,
        Instant createdAt,
        Instant updatedAt,
        int builds,
        Optional<BuildRow> latest,
        long spawned,
        Optional<Instant> lastSpawnedAt) {

    /**
     * A build of it.
     *
     * @param tags what it is to be called when it is ready
     * @param root what the provider knows its files by
     * @param reason why it failed, and {@code step} at which step
     */
    record BuildRow(
            UUID id,
            String template,
            Status status,
            List<String> tags,
            OptionalInt cpus,
            OptionalInt memoryMb,
            Optional<String> root,
            long size,
            Optional<String> reason,
            Optional<String> step,
            Instant createdAt,
            Instant updatedAt,
            Optional<Instant> finishedAt) {}

    /** How far a build is. */
    enum Status {
        WAITING,
        BUILDING,
        READY,
        ERROR;

        String text() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** A line of a build's log. */
    record LogRow(int number, Instant at, String level, Optional<String> step, String message) {}

    /** A name for a build. */
    record TagRow(String tag, UUID build, Instant createdAt) {}
}
