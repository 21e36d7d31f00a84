package dev.berth.sandbox;

import java.util.Optional;

/**
 * A command the sandbox knows of.
 *
 * @param id its number in this sandbox, for {@link Sandbox#attach}
 * @param pid its process id inside
 * @param commandLine its arguments, shortened for reading
 * @param stdinOpen whether it can still be given input
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
        boolean stdinOpen,
        Optional<Exit> exit,
        long stdoutOldest,
        long stdoutEnd,
        long stderrOldest,
        long stderrEnd) {
    /** The tag of what a template starts by itself when its sandbox boots. */
    public static final String START = "start";

    public CommandInfo withCommandLine(String line) {
        return new CommandInfo(
                id, pid, tag, line, terminal, stdinOpen, exit, stdoutOldest, stdoutEnd, stderrOldest, stderrEnd);
    }
}
