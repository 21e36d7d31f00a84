package dev.berth.sandbox;

import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One isolated Linux computer: a root filesystem, processes, limits.
 *
 * <p>Safe for use by many threads. Operations on a sandbox that is gone fail with {@code gone}; commands on one that is
 * paused or stopped fail with {@code conflict}, {@link #wake()} it first. Files can be used in any state but destroyed.
 */
public interface Sandbox {
    SandboxId id();

    SandboxInfo info();

    default SandboxState state() {
        return info().state();
    }

    /**
     * Whether a command could be started right now, as far as is known without asking anybody. This takes no lock, does
     * no input or output, and may be called for every request.
     */
    boolean ready();

    Map<String, String> env();

    /** Changes the variables of the commands that start from now on. */
    void env(Map<String, String> env);

    /** Starts a command; returns when its program has been executed, or throws if it could not be. */
    RunningCommand start(Command command);

    /** Runs a command to its end and keeps up to the output limit of each stream. */
    default Result run(Command command) {
        return Result.of(start(command), limits().outputBytes());
    }

    /** The commands that run, and those that ended and were not yet released. */
    List<CommandInfo> commands();

    /**
     * Takes up a command that was started earlier, perhaps by a process that is gone. Output is read from the given
     * offsets, or from the oldest bytes still kept. Whoever read it before reads no more.
     */
    RunningCommand attach(int command, long stdoutFrom, long stderrFrom);

    SandboxFiles files();

    /** Who runs commands, and owns files that are written from outside, where nobody else is named. */
    String defaultUser();

    /**
     * A user as the sandbox's own {@code /etc/passwd} has it now.
     *
     * @param user as in {@link Command#user}; a uid that has no name is good too
     * @throws SandboxException {@code invalid} if there is no such user
     */
    Account account(String user);

    /** The name of a user id, if the sandbox has one for it now. */
    Optional<String> userName(int uid);

    /** The name of a group id, if the sandbox has one for it now. */
    Optional<String> groupName(int gid);

    /** Connects to a TCP port on the sandbox's loopback. */
    Connection dial(int port);

    /** Freezes all processes; memory stays. Nothing happens if it is paused already. */
    void pause();

    /** Brings a paused or stopped sandbox back to running. Nothing happens if it is running. */
    void wake();

    /** Ends all processes and keeps the files. */
    void stop();

    /** Ends it and removes every trace. Nothing happens if it is destroyed already. Its checkpoints stay. */
    void destroy();

    Limits limits();

    /** Changes the limits, at once where the kernel allows it. */
    void limit(Limits limits);

    Network network();

    /**
     * Changes what it may reach, at once: what is closed to it now is cut off.
     *
     * @throws SandboxException {@code unsupported} for what cannot be enforced here
     */
    void network(Network network);

    Usage usage();

    /** Keeps the files as they are now under a name of its own, while everything goes on. */
    Checkpoint checkpoint(String name);

    /** Puts the files back to a checkpoint of this sandbox. Its processes are ended first and it is left running. */
    void rollback(CheckpointId checkpoint);

    /**
     * Writes the sandbox's own files, which is all that differs from its template, for {@link Origin#packed}. What is
     * written is the provider's own affair; it may be more than {@link #usage} says, as blocks that files share are
     * written for each. A sandbox that runs is refused with {@code conflict}. The target is left open.
     *
     * @throws IOException what the target threw; nothing more is written to it then
     */
    void pack(OutputStream target) throws IOException;

    /** What changed since a checkpoint of this sandbox. */
    List<Change> changesSince(CheckpointId checkpoint);
}
