package dev.berth.sandbox;

import java.time.Instant;
import java.util.Optional;

/**
 * A version of a template.
 *
 * @param size bytes of all its files
 * @param user whom commands run as unless they say otherwise, and {@code workdir} where
 * @param start what runs as soon as a sandbox of it is there, and {@code ready} what tells that it does
 */
public record TemplateInfo(
        String name,
        int version,
        String user,
        String workdir,
        Optional<String> start,
        Optional<String> ready,
        long size,
        Instant createdAt) {

    /** Name and version, such as {@code base:1}. */
    public String id() {
        return name + ":" + version;
    }
}
