package dev.berth.session.process;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.process.Event.Ended;
import dev.berth.session.process.Event.Lost;
import dev.berth.session.process.Event.Output;
import dev.berth.session.process.Event.Stream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one process, and tells all who follow it.
 *
 * <p>A sandbox has one reader for each process. So the server has one pump for each, from when the process is started, or
 * found after a restart, to its end: a thread for each of its streams that reads a chunk and hands it to every follower in
 * turn. A follower has room for a bounded number of bytes. When that is used up the thread waits, so nothing more is read,
 * the window to the sandbox fills up, then the ring in it, and then the process waits in its write: a slow follower slows
 * the process and everybody else, and no byte is lost. One who takes nothing at all for the time of patience is cut off, so
 * that the dead stall nobody for longer. Without followers chunks are read and dropped, so the process never waits.
 *
 * <p>The streams of a command end when it ended and all it wrote was read. So when both threads are through, and not
 * before, the followers are told how it ended.
 *
 * <p>A frozen sandbox is just silent: reading waits, and goes on where it was. If the sandbox does not answer, the pump takes the
 * process up again at the byte at which it was, for as long as that makes sense; if it was stopped or removed, the followers are
 * told that the process is lost. When the server goes away in good order it stops reading and lets go of nothing, so the
 * next server finds the process as after a kill, by its mark.
 *
 * <p>Who follows and the end are guarded by {@code followers}' monitor together: a follower that comes is told of every
 * chunk after it, or of the end.
 */
final class Pump {
    static final int CHUNK = 32 << 10;

    private static final Logger LOG = LoggerFactory.getLogger(Pump.class);
    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int TRIES = 30;

    private final Command command;
    private final Sandbox sandbox;
    private final Duration patience;
    private final int id;
    private final int pid;
    private final boolean terminal;
    private final Input input;
    private final List<Follower> followers = new CopyOnWriteArrayList<>();
    private final CountDownLatch left = new CountDownLatch(1);
    private final Runnable whenOver;

    private final AtomicLong stdoutAt;
    private final AtomicLong stderrAt;
    private volatile RunningCommand current;
    private volatile @Nullable Event over;

    /**
     * @param running what is read from these offsets on
     * @param input whether it can be given input
     * @param whenOver called once, after the followers were told
     */
    Pump(
            Command command,
            RunningCommand running,
            long stdoutAt,
            long stderrAt,
            boolean input,
            Sandbox sandbox,
            Duration patience,
            Consumer<Pump> whenOver) {
        this.command = command;
        this.sandbox = sandbox;
        this.patience = patience;
        this.id = running.id();
        this.pid = running.pid();
        this.terminal = command.terminal().isPresent();
        this.current = running;
        this.stdoutAt = new AtomicLong(stdoutAt);
        this.stderrAt = new AtomicLong(stderrAt);
        this.input = new Input(input, terminal);
        this.whenOver = () -> whenOver.accept(this);
    }

    void start() {
        Thread.ofVirtual().name("process " + pid).start(this::run);
    }

    Command command() {
        return command;
    }

    int id() {
        return id;
    }

    int pid() {
        return pid;
    }

    boolean terminal() {
        return terminal;
    }

    RunningCommand running() {
        return current;
    }

    Input input() {
        return input;
    }

    boolean alive() {
        return over == null;
    }

    Optional<Exit> exit() {
        return over instanceof Ended(Exit exit) ? Optional.of(exit) : Optional.empty();
    }

    // ---- followers -----------------------------------------------------------------------------------------------

    Follower follow() {
        Follower follower = new Follower(this::without, patience, System::nanoTime);
        synchronized (followers) {
            Event end = over;
            if (end != null) {
                follower.finish(end);
            } else {
                followers.add(follower);
            }
        }
        return follower;
    }

    private void without(Follower follower) {
        followers.remove(follower);
    }

    private void tell(Stream stream, byte[] bytes) {
        if (!followers.isEmpty()) {
            Output output = new Output(stream, bytes);
            followers.forEach(follower -> follower.put(output));
        }
    }

    private void finish(Event end) {
        synchronized (followers) {
            if (over != null) {
                return;
            }
            over = end;
        }
        followers.forEach(follower -> follower.finish(end));
        followers.clear();
        whenOver.run();
    }

    /** The server goes away, and the process stays. */
    void leave() {
        left.countDown();
        finish(new Lost(SandboxException.unavailable("the server is shutting down; the process goes on")));
        stopReading(current);
    }

    private boolean isLeft() {
        return left.getCount() == 0;
    }

    // ---- reading -------------------------------------------------------------------------------------------------

    private void run() {
        try {
            Exit exit = readAll();
            if (!isLeft()) {
                finish(new Ended(exit));
                current.close(); // which lets the sandbox forget it
            }
        } catch (SandboxException e) {
            finish(new Lost(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            finish(new Lost(SandboxException.unavailable("reading the process was interrupted", e)));
        } catch (RuntimeException e) {
            LOG.atError().addKeyValue("pid", pid).setCause(e).log("process.read.failed");
            finish(new Lost(SandboxException.unavailable("reading the process failed", e)));
        }
    }

    private Exit readAll() throws InterruptedException {
        while (true) {
            try {
                read(current);
                return current.await();
            } catch (SandboxException e) {
                if (isLeft()) {
                    throw e;
                }
                current = again(e);
            }
        }
    }

    private void read(RunningCommand running) throws InterruptedException {
        FutureTask<Boolean> errors = new FutureTask<>(() -> readErrors(running), true);
        if (terminal) {
            errors.run(); // there are none
        } else {
            Thread.ofVirtual().name("process " + pid + " stderr").start(errors);
        }
        try {
            readOutput(running);
        } catch (SandboxException e) {
            stopReading(running); // or the other thread might wait for what never comes
            awaitAnyhow(errors, e);
            throw e;
        }
        await(errors);
    }

    private void readOutput(RunningCommand running) {
        copy(running.stdout(), terminal ? Stream.TERMINAL : Stream.STDOUT, stdoutAt);
    }

    private void readErrors(RunningCommand running) {
        if (!terminal) {
            copy(running.stderr(), Stream.STDERR, stderrAt);
        }
    }

    private static void await(FutureTask<Boolean> errors) throws InterruptedException {
        try {
            boolean _ = errors.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("reading the errors of a process failed", e);
        }
    }

    private static void awaitAnyhow(FutureTask<Boolean> errors, SandboxException why) throws InterruptedException {
        try {
            await(errors);
        } catch (SandboxException e) {
            if (e != why) { // both threads are told of a sandbox that is gone by one and the same
                why.addSuppressed(e);
            }
        }
    }

    private void copy(InputStream in, Stream stream, AtomicLong offset) {
        try {
            for (int first = in.read(); first >= 0; first = in.read()) {
                // No larger than it has to be, and not there while nothing comes: there may be thousands of these.
                byte[] bytes = new byte[1 + Math.min(CHUNK - 1, in.available())];
                bytes[0] = (byte) first;
                int read = 1 + in.readNBytes(bytes, 1, bytes.length - 1);
                tell(stream, read == bytes.length ? bytes : Arrays.copyOf(bytes, read));
                offset.addAndGet(read);
            }
        } catch (IOException e) {
            // A stream can only throw this; what befell the process is its cause.
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("could not read what a process prints: " + e.getMessage(), e);
        }
    }

    private static void stopReading(RunningCommand running) {
        try {
            running.stdout().close();
            running.stderr().close();
        } catch (IOException e) {
            LOG.atDebug().setCause(e).log("process.leave.failed");
        }
    }

    // ---- after something went wrong ------------------------------------------------------------------------------

    /** Takes it up where it was, or throws why there is no more of it. */
    private RunningCommand again(SandboxException trouble) throws InterruptedException {
        if (trouble.code() == ErrorCode.GONE || trouble.code() == ErrorCode.CONFLICT) {
            throw trouble; // stopped; or somebody else reads it now
        }
        SandboxException why = trouble;
        int tries = 0;
        do {
            switch (sandbox.state()) {
                case STOPPED, DESTROYED ->
                    throw SandboxException.gone("the sandbox was stopped or removed, and the process with it");
                case PAUSED -> tries = 0;
                case RUNNING -> {
                    tries++;
                    try {
                        return attach();
                    } catch (SandboxException e) {
                        if (e.code() == ErrorCode.GONE) {
                            throw e;
                        }
                        why = e;
                    }
                }
            }
        } while (!left.await(RETRY.toMillis(), TimeUnit.MILLISECONDS) && tries < TRIES);
        throw why;
    }

    private RunningCommand attach() {
        CommandInfo found = sandbox.commands().stream()
                .filter(info -> info.id() == id && info.pid() == pid)
                .findFirst()
                .orElseThrow(() -> SandboxException.gone("the process is not in the sandbox any more"));
        return sandbox.attach(found.id(), stdoutAt.get(), stderrAt.get());
    }
}
