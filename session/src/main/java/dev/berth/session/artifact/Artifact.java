package dev.berth.session.artifact;

import dev.berth.session.SessionKey;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A file that a run left for people to see, as it was then.
 *
 * @param callId the request that it came from
 * @param name of the file, with nothing in it that could mislead whoever reads it
 * @param path relative to the workspace, exactly as it is there
 * @param preview its first lines, if it is text
 */
public record Artifact(
        String id,
        SessionKey session,
        Optional<String> callId,
        String name,
        String path,
        String mimeType,
        long size,
        String sha256,
        Kind kind,
        OptionalInt width,
        OptionalInt height,
        Optional<String> preview,
        Instant createdAt,
        Instant expiresAt) {

    /** What it is to whoever looks at it. */
    public enum Kind {
        IMAGE,
        TABLE,
        REPORT,
        BINARY;

        static Kind of(String mimeType) {
            return switch (mimeType) {
                case "text/csv",
                        "text/tab-separated-values",
                        "application/jsonl",
                        "application/vnd.apache.parquet",
                        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" -> TABLE;
                case "application/pdf",
                        "application/json",
                        "application/xml",
                        "application/yaml",
                        "application/x-ipynb+json",
                        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                        "application/vnd.openxmlformats-officedocument.presentationml.presentation" -> REPORT;
                default -> mimeType.startsWith("image/") ? IMAGE : mimeType.startsWith("text/") ? REPORT : BINARY;
            };
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
