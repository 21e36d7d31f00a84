package dev.berth.session.postgres;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The running PostgreSQL, on one port for as long as the server lives.
 *
 * <p>One platform thread, the keeper, starts it, waits for it, and starts it again should it die. It has to be the same
 * thread for the whole time, because PostgreSQL gets its signal to stop when that thread ends (prctl(2),
 * PR_SET_PDEATHSIG), and so also when the server is killed with -9. A server killed in the instant before setpriv has
 * asked for the signal leaves a PostgreSQL behind; the next start finds it, see {@link Remains}.
 */
final class Postmaster implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Postmaster.class);
    private static final Duration FOR_MEMORY = Duration.ofMillis(500);
    private static final Duration TO_START = Duration.ofSeconds(60);
    private static final Duration TO_STOP = Duration.ofSeconds(30);
    private static final Duration TO_STOP_BY_FORCE = Duration.ofSeconds(10);
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);
    /** How long it has to live for its next death to count as the first. */
    private static final Duration STEADY = Duration.ofMinutes(1);

    private final Installation installation;
    private final Cluster cluster;
    private final Remains remains;
    private final Map<String, String> settings;
    private final int port;
    private final Thread keeper =
            Thread.ofPlatform().daemon().name("postgres-keeper").unstarted(this::keep);
    private final CompletableFuture<Process> first = new CompletableFuture<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    /** Until then a death is a failed start, which is reported and not repeated. */
    private volatile boolean ready;
    /** The last one started. Guarded by this. */
    private @Nullable Process process;

    Postmaster(Installation installation, Cluster cluster, Remains remains, Map<String, String> settings, int port) {
        this.installation = installation;
        this.cluster = cluster;
        this.remains = remains;
        this.settings = settings;
        this.port = port;
    }

    int port() {
        return port;
    }

    /** The PostgreSQL that runs, or ran last; for tests that kill it. */
    synchronized ProcessHandle handle() {
        return Objects.requireNonNull(process, "not started").toHandle();
    }

    /**
     * Starts it and waits until it takes connections.
     *
     * @return false if somebody else has the port, or one before has the memory still
     */
    boolean start() throws IOException, InterruptedException {
        long mark = installation.log().end();
        keeper.start();
        try {
            Process started = first.get();
            long deadline = System.nanoTime() + TO_START.toNanos();
            Duration pause = Duration.ofMillis(2);
            while (!saysReady(started)) {
                if (!started.isAlive()) {
                    String lastWords = installation.log().tail(mark);
                    if (lastWords.contains("Address already in use")) {
                        return false;
                    }
                    if (lastWords.contains("pre-existing shared memory block")) {
                        // Of a process that is dying: its title goes before its memory.
                        TimeUnit.NANOSECONDS.sleep(FOR_MEMORY.toNanos());
                        return false;
                    }
                    throw installation.diagnosis().of("it ended with status " + started.waitFor(), lastWords);
                }
                if (System.nanoTime() - deadline > 0) {
                    throw installation
                            .diagnosis()
                            .of(
                                    "it was not ready after " + TO_START.toSeconds() + " s",
                                    installation.log().tail(mark));
                }
                TimeUnit.NANOSECONDS.sleep(pause.toNanos());
                pause = shorter(pause.multipliedBy(2), Duration.ofMillis(20));
            }
            ready = true;
            return true;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IOException(e.getCause());
        } finally {
            if (!ready) {
                close();
            }
        }
    }

    /** Stops it: fast and cleanly, and if that does not help, by force. */
    @Override
    public void close() {
        Process last;
        synchronized (this) {
            closing.countDown();
            last = process;
        }
        boolean interrupted = Thread.interrupted(); // a server that stops in a hurry stops its database nevertheless
        try {
            if (last != null && last.isAlive()) {
                stop(last);
            }
            keeper.interrupt(); // it may be waiting to start the next
            keeper.join();
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void stop(Process last) throws InterruptedException {
        try {
            installation.signal("INT", last.pid());
            if (!ended(last, TO_STOP)) {
                LOG.warn("PostgreSQL in {} does not stop; stopping it at once", cluster.data());
                installation.signal("QUIT", last.pid());
                ended(last, TO_STOP_BY_FORCE);
            }
        } catch (IOException e) {
            LOG.warn("could not stop PostgreSQL in {} cleanly: {}", cluster.data(), e.getMessage());
        } finally {
            last.destroyForcibly();
        }
    }

    private static boolean ended(Process process, Duration patience) throws InterruptedException {
        return process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** The pid file's first line is the pid, its eighth the state (miscadmin.h, LOCK_FILE_LINE_PM_STATUS). */
    private boolean saysReady(Process started) throws IOException {
        try {
            List<String> lines = Files.readString(cluster.pidFile(), StandardCharsets.ISO_8859_1)
                    .lines()
                    .toList();
            return lines.size() >= 8
                    && lines.getFirst().equals(Long.toString(started.pid()))
                    && lines.get(7).strip().equals("ready");
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private void keep() {
        Duration pause = SHORTEST_PAUSE;
        try {
            while (closing.getCount() > 0) {
                long began = System.nanoTime();
                String end = runOnce();
                if (closing.getCount() == 0 || !ready) {
                    return;
                }
                if (System.nanoTime() - began > STEADY.toNanos()) {
                    pause = SHORTEST_PAUSE;
                }
                LOG.error(
                        "PostgreSQL in {} {}; starting it again in {} ms. See {}",
                        cluster.data(),
                        end,
                        pause.toMillis(),
                        installation.log().file());
                if (closing.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
                    return;
                }
                pause = shorter(pause.multipliedBy(2), LONGEST_PAUSE);
            }
        } catch (InterruptedException e) {
            // it is being closed
        } finally {
            first.completeExceptionally(new IOException("PostgreSQL was stopped before it started"));
        }
    }

    /** How it ended, or why it could not begin. */
    private String runOnce() throws InterruptedException {
        try {
            remains.clear();
            Process started = spawn();
            if (started == null) {
                return "was stopped";
            }
            first.complete(started);
            while (!started.waitFor(1, TimeUnit.MINUTES)) {
                boundLog();
            }
            return "ended with status " + started.exitValue();
        } catch (IOException | RuntimeException e) {
            first.completeExceptionally(e);
            return "could not be started: " + e.getMessage();
        }
    }

    private void boundLog() {
        try {
            installation.log().bound();
        } catch (IOException e) {
            LOG.warn("could not shorten {}: {}", installation.log().file(), e.getMessage());
        }
    }

    /** Null once it is closing, so that nothing is started that nobody would stop. */
    private synchronized @Nullable Process spawn() throws IOException {
        if (closing.getCount() == 0) {
            return null;
        }
        Process started = installation
                .account()
                .process(command(), "INT", installation.log())
                .start();
        process = started;
        return started;
    }

    private List<String> command() {
        Map<String, String> all = new TreeMap<>(Map.of(
                "max_connections", "100",
                "shared_buffers", "64MB",
                "log_checkpoints", "off"));
        all.putAll(settings);
        all.putAll(Map.of(
                "listen_addresses",
                "127.0.0.1",
                "port",
                Integer.toString(port),
                "unix_socket_directories",
                "",
                "cluster_name",
                cluster.name()));
        List<String> argv = new ArrayList<>(List.of(
                installation.programs().postgres().toString(),
                "-D",
                cluster.data().toString()));
        all.forEach((name, value) -> argv.addAll(List.of("-c", name + "=" + value)));
        return argv;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
