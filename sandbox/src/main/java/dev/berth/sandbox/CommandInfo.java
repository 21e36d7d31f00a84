package dev.berth.sandbox;

import java.util.Optional;

/**
 * A command the sandbox knows of.
 *
 * @param id its number in this sandbox, for {@link Sandbox#attach}
 * @param pid its process id inside
 * @param commandLine its arguments, shortened for reading
 * @param exit how it ended, if it did
 * @param stdoutOldest offset of the oldest byte of stdout still kept
 * @param stdoutEnd offset just after the newest
 */
public record CommandInfo(
        int id,
        int pid,
        String tag,
        String commandLine,
        boolean terminal,
        Optional<Exit> exit,
        long stdoutOldest,
        long stdoutEnd,
        long stderrOldest,
        long stderrEnd) {}
