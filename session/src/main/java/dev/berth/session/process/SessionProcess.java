package dev.berth.session.process;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A process of a session, to be followed and talked to by any number. It need not be closed: it belongs to the sandbox.
 *
 * <p>What can be asked of a process that has ended is refused with {@code conflict}, but signals, which do nothing.
 */
@SuppressWarnings("AvoidCommonTypeNames") // nobody who has to do with these starts processes of the machine
public final class SessionProcess {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Pump pump;
    /** Who started it gets all that it prints, also what it prints before it is followed. */
    private final AtomicReference<@Nullable Follower> first;

    SessionProcess(Pump pump, @Nullable Follower first) {
        this.pump = pump;
        this.first = new AtomicReference<>(first);
    }

    public int pid() {
        return pump.pid();
    }

    /** As it was started; of one that an earlier server started only what its sandbox tells, shortened. */
    public Command command() {
        return pump.command();
    }

    /** The name that its caller gave it, which may be empty. */
    public String tag() {
        return pump.command().tag();
    }

    /** Whether it runs on a terminal. */
    public boolean terminal() {
        return pump.terminal();
    }

    /** Whether it has not ended, as far as is known here. */
    public boolean alive() {
        return pump.alive();
    }

    /** How it ended, if it did. */
    public Optional<Exit> exit() {
        return pump.exit();
    }

    /**
     * Tells what happens from now on; of one that was just {@linkplain Processes#start started}, the first to follow is told
     * from the beginning. So follow it soon: it waits for the first as for any other who takes nothing.
     */
    public Follower follow() {
        Follower begun = first.getAndSet(null);
        return begun != null ? begun : pump.follow();
    }

    /** Gives it something to read; waits while it does not read, but not for ever. */
    public void input(byte[] bytes) {
        input(bytes, PATIENCE);
    }

    /**
     * Gives it something to read.
     *
     * @throws SandboxException with {@code timeout} if it does not read it within that time; it says how much was written
     */
    public void input(byte[] bytes, Duration patience) {
        pump.input().write(living("be given input"), bytes, patience);
    }

    /** What it reads ends here. */
    public void endInput() {
        pump.input().end(living("be given the end of its input"), PATIENCE);
    }

    /** Signals its whole process group. */
    public void signal(Signal signal) {
        if (pump.alive()) {
            pump.running().signal(signal);
        }
    }

    public void resize(TerminalSize size) {
        if (!pump.terminal()) {
            throw SandboxException.conflict("the process has no terminal that could be resized");
        }
        living("be resized").resize(size);
    }

    private RunningCommand living(String what) {
        if (!pump.alive()) {
            throw SandboxException.conflict("the process cannot " + what + ": it has ended");
        }
        return pump.running();
    }
}
