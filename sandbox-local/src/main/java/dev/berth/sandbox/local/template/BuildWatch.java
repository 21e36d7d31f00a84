package dev.berth.sandbox.local.template;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Looks after a build that somebody asked for while it works, and interrupts it when it has taken too long or too much of
 * the disk. Everything a build does ends when its thread is interrupted; why it was is told in place of what came of it.
 */
final class BuildWatch {
    private static final Duration INTERVAL = Duration.ofMillis(250);

    private final BuildBounds bounds;
    private final Path directory;
    private final long floor;
    private final Thread build = Thread.currentThread();
    private final AtomicReference<@Nullable SandboxException> why = new AtomicReference<>();

    private BuildWatch(BuildBounds bounds, Path directory) throws IOException {
        this.bounds = bounds;
        this.directory = directory;
        this.floor = bounds.floor(directory);
    }

    /**
     * Does the work of a build on this thread.
     *
     * @param directory on the disk that it fills
     */
    static Template watched(BuildBounds bounds, Path directory, Callable<Template> work) throws IOException {
        BuildWatch watch = new BuildWatch(bounds, directory);
        if (BuildBounds.free(directory) < watch.floor) {
            throw watch.full("could not begin the build");
        }
        Thread thread = Thread.ofPlatform().daemon().name("watch of a build").start(watch::look);
        try {
            return work.call();
        } catch (IOException | RuntimeException e) {
            throw watch.told(e);
        } catch (Exception e) {
            throw new IOException(e);
        } finally {
            thread.interrupt();
            join(thread);
            if (watch.why.get() != null) {
                boolean _ = Thread.interrupted(); // it was ours, and has done its work
            }
        }
    }

    private void look() {
        long deadline = System.nanoTime() + bounds.longest().toNanos();
        try {
            while (true) {
                Thread.sleep(INTERVAL);
                if (System.nanoTime() - deadline > 0) {
                    end(new SandboxException(
                            ErrorCode.TIMEOUT,
                            "the build took more than " + minutes(bounds.longest())
                                    + " and was ended, as others wait for it; make its steps shorter, or begin with a"
                                    + " template that has a part of it"));
                    return;
                }
                if (BuildBounds.free(directory) < floor) {
                    end(full("the build was ended"));
                    return;
                }
            }
        } catch (InterruptedException | IOException e) {
            // it has ended; or the disk tells nothing, and then the build finds out what is the matter
        }
    }

    private void end(SandboxException reason) {
        why.set(reason);
        build.interrupt();
    }

    private IOException told(Exception e) throws IOException {
        SandboxException reason = why.get();
        if (reason != null) {
            if (e instanceof SandboxException known) {
                known.details().forEach(reason::with);
            }
            reason.addSuppressed(e);
            throw reason;
        }
        if (e instanceof RuntimeException unexpected) {
            throw unexpected;
        }
        throw (IOException) e;
    }

    private SandboxException full(String what) {
        return SandboxException.limit(what + ": the disk of the templates has less than " + (floor >> 20)
                + " MB free, which are kept for sandboxes; remove templates that nobody needs, or the results of earlier"
                + " builds");
    }

    private static String minutes(Duration time) {
        return time.toMinutes() > 0 ? time.toMinutes() + " minutes" : time.toMillis() + " ms";
    }

    /** Its own interrupt may come while it is waited for, and is nobody else's. */
    private static void join(Thread thread) {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
