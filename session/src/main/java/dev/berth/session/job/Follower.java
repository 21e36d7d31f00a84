package dev.berth.session.job;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.session.Session;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows one job in this server: reads what it prints, writes that down, and settles how it ended. It holds the session
 * meanwhile, so that nobody puts it to sleep for being idle.
 *
 * <p>Whatever goes wrong on the way to the command, it looks at the sandbox then: one that is stopped or gone took the
 * job with it, and so did one that runs but does not know the job's mark; a paused one is waited for; anything else is
 * tried again. If this server goes away, the job is left as it is for the next one.
 */
final class Follower {
    private static final Logger LOG = LoggerFactory.getLogger(Follower.class);
    private static final Duration GRACE = Duration.ofSeconds(1);
    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final Duration ASLEEP = Duration.ofSeconds(10);

    private final Jobs jobs;
    private final String id;
    private final CountDownLatch done = new CountDownLatch(1);
    private final Semaphore woken = new Semaphore(0);
    private final Object lock = new Object();
    /** Guarded by {@code lock}, as the two below. */
    private Session hold;

    private @Nullable RunningCommand current;
    private boolean left;
    private volatile boolean stopping;

    /** @param hold is closed in the end */
    Follower(Jobs jobs, String id, Session hold) {
        this.jobs = jobs;
        this.id = id;
        this.hold = hold;
    }

    String id() {
        return id;
    }

    /** Starts the command and follows it. */
    void launch(Command command) {
        RunningCommand launched = sandbox().start(command);
        start(launched);
    }

    /** Follows a command that was started earlier. */
    void adopt(boolean stopRequested) {
        stopping = stopRequested;
        start(null);
    }

    private void start(@Nullable RunningCommand launched) {
        Thread.ofVirtual().name("follow " + id).start(() -> follow(launched));
    }

    private Sandbox sandbox() {
        synchronized (lock) {
            return hold.sandbox();
        }
    }

    /** The session is up again: what is held is that from now on. */
    void wake(Session fresh) {
        Session old;
        synchronized (lock) {
            old = hold;
            hold = fresh;
        }
        old.close();
        woken.release();
    }

    /** Waits until it is over; false if it is not after so long. */
    boolean await(Duration patience) throws InterruptedException {
        return done.await(patience.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Leaves the job as it is, for the next server. */
    void leave() {
        synchronized (lock) {
            left = true;
            if (current != null) {
                stopReading(current);
            }
        }
        woken.release();
    }

    /** That it was given up before it began. */
    void cancel() {
        hold.close();
        done.countDown();
    }

    private boolean left() {
        synchronized (lock) {
            return left;
        }
    }

    // ---- following -----------------------------------------------------------------------------------------------

    private void follow(@Nullable RunningCommand launched) {
        try {
            boolean over = launched != null && attempt(launched);
            while (!over && !left()) {
                over = attempt(null);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.atError().addKeyValue("job", id).setCause(e).log("job.follow.failed");
        } finally {
            synchronized (lock) {
                hold.close();
            }
            jobs.left(this);
            done.countDown();
        }
    }

    /** Whether there is nothing more to do here. */
    private boolean attempt(@Nullable RunningCommand launched) throws InterruptedException {
        try {
            Job job = jobs.find(id).filter(jobs::isOurs).orElse(null);
            if (job == null) {
                return true; // it was settled, or taken over
            }
            if (launched != null) {
                return read(job, launched);
            }
            return switch (look()) {
                case GONE -> jobs.end(id, Ending.lost("its sandbox was stopped or removed, and the job with it"));
                case ASLEEP -> {
                    boolean _ = woken.tryAcquire(ASLEEP.toMillis(), TimeUnit.MILLISECONDS);
                    yield false;
                }
                case UP -> attach(job);
            };
        } catch (SandboxException e) {
            LOG.atDebug().addKeyValue("job", id).setCause(e).log("job.follow.again");
            boolean _ = woken.tryAcquire(RETRY.toMillis(), TimeUnit.MILLISECONDS);
            return false;
        }
    }

    private enum Found {
        GONE,
        ASLEEP,
        UP
    }

    private Found look() {
        try {
            return switch (sandbox().state()) {
                case STOPPED, DESTROYED -> Found.GONE;
                case PAUSED -> Found.ASLEEP;
                case RUNNING -> Found.UP;
            };
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.GONE) {
                return Found.GONE;
            }
            throw e;
        }
    }

    private boolean attach(Job job) throws InterruptedException {
        if (!jobs.reattaches()) {
            return true; // the job has to tell by itself how it ended
        }
        Optional<CommandInfo> found = sandbox().commands().stream()
                .filter(command -> command.tag().equals(Jobs.tag(id)))
                .findFirst();
        if (found.isEmpty()) {
            return jobs.end(
                    id, Ending.lost("its process is gone: it was not started, or the sandbox was started anew since"));
        }
        long stdout = Math.max(job.stdoutEnd(), found.get().stdoutOldest());
        long stderr = Math.max(job.stderrEnd(), found.get().stderrOldest());
        jobs.skip(job, "stdout", job.stdoutEnd(), stdout);
        jobs.skip(job, "stderr", job.stderrEnd(), stderr);
        Job now = jobs.find(id).orElse(job);
        return read(now, sandbox().attach(found.get().id(), stdout, stderr));
    }

    /** Reads it to its end and settles it. */
    private boolean read(Job job, RunningCommand command) throws InterruptedException {
        synchronized (lock) {
            if (left) {
                return true;
            }
            current = command;
        }
        if (stopping) {
            terminate();
        }
        FutureTask<Boolean> errors = new FutureTask<>(() -> copy(command.stderr(), "stderr", job, job.stderrEnd()));
        Thread.ofVirtual().name("follow " + id + " stderr").start(errors);
        boolean ours;
        try {
            ours = copy(command.stdout(), "stdout", job, job.stdoutEnd());
        } catch (IOException e) {
            letGo(command);
            await(errors);
            throw failure(e);
        }
        if (!ours || !await(errors)) {
            letGo(command);
            return true;
        }
        Exit exit = command.await();
        synchronized (lock) {
            jobs.ending(hold, job);
        }
        boolean settled = jobs.end(id, Ending.of(exit, stopping));
        if (settled) {
            command.close(); // not before: until then the sandbox is the only one who knows
        }
        return true;
    }

    /** What has ended is forgotten by closing it, so the next server is left one that is not closed. */
    private void letGo(RunningCommand command) {
        if (left()) {
            stopReading(command);
        } else {
            command.close();
        }
    }

    private void stopReading(RunningCommand command) {
        try {
            command.stdout().close();
            command.stderr().close();
        } catch (IOException e) {
            LOG.atDebug().addKeyValue("job", id).setCause(e).log("job.leave.failed");
        }
    }

    private boolean copy(InputStream stream, String name, Job job, long from) throws IOException, InterruptedException {
        return new OutputReader(stream, from, (offset, bytes) -> jobs.write(job, name, offset, bytes)).run();
    }

    private static boolean await(FutureTask<Boolean> errors) throws InterruptedException {
        try {
            return errors.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io
                    ? failure(io)
                    : SandboxException.unavailable("reading a job's errors failed", e);
        }
    }

    /** A stream can only throw this; what befell the command is its cause. */
    private static SandboxException failure(IOException e) {
        return e.getCause() instanceof SandboxException known
                ? known
                : SandboxException.unavailable("could not read what a job prints: " + e.getMessage(), e);
    }

    // ---- stopping ------------------------------------------------------------------------------------------------

    /** Whether it ended already, by itself. */
    boolean ended() {
        RunningCommand command = current();
        try {
            return command != null && command.await(Duration.ZERO).isPresent();
        } catch (SandboxException e) {
            return false; // the one who reads it will find out
        }
    }

    /** Asks it to end, and ends it if it does not. Returns at once. */
    void terminate() {
        stopping = true;
        RunningCommand command = current();
        if (command != null) {
            Thread.ofVirtual().name("stop " + id).start(() -> terminate(command));
        }
    }

    private @Nullable RunningCommand current() {
        synchronized (lock) {
            return current;
        }
    }

    private void terminate(RunningCommand command) {
        try {
            int group = command.pid();
            command.signal(Signal.TERM);
            if (command.await(GRACE).isEmpty()) {
                command.signal(Signal.KILL);
            }
            // Its children are in its group, and may have chosen not to hear.
            sandbox()
                    .run(Command.of("bash", "-c", "kill -KILL -- \"-$1\" 2>/dev/null; true", "bash", "" + group)
                            .withCwd("/")
                            .withTimeout(Duration.ofSeconds(10)));
        } catch (SandboxException e) {
            LOG.atDebug().addKeyValue("job", id).setCause(e).log("job.stop.again");
        }
    }
}
