package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The processes of a cluster that nobody looks after any more: the server was killed and PostgreSQL is still stopping, or
 * PostgreSQL was killed and its children have not noticed yet.
 *
 * <p>The pid file says that there may be some. Which ones they are is read off all processes, because the one in the file
 * may be gone while its children live, and its number may belong to somebody else by now. They are known by their user and
 * by the cluster's name in their title, which can be read without any right to trace them.
 */
final class Remains {
    private static final Duration FOR_PEACE = Duration.ofSeconds(30);
    private static final Duration FOR_FORCE = Duration.ofSeconds(10);
    private static final Duration PAUSE = Duration.ofMillis(10);

    private final Cluster cluster;
    private final Installation installation;

    Remains(Cluster cluster, Installation installation) {
        this.cluster = cluster;
        this.installation = installation;
    }

    /** Returns when there are none, having asked them to end if need be. Whoever calls this holds the lock. */
    void clear() throws IOException, InterruptedException {
        if (!Files.exists(cluster.pidFile())) {
            return;
        }
        List<Long> left = find();
        for (long pid : left) {
            if (isPostmaster(title(pid))) {
                installation.signal("INT", pid);
            }
        }
        if (!gone(left, FOR_PEACE)) {
            for (long pid : left) {
                if (isOurs(pid)) {
                    installation.signal("QUIT", pid);
                }
            }
            if (!gone(left, FOR_FORCE)) {
                throw SandboxException.unavailable("could not start PostgreSQL in " + cluster.data()
                        + ": an earlier one is still running and does not stop; end the processes " + left);
            }
        }
        // PostgreSQL would refuse to start if the pid in it were that of any process of the same user
        Files.deleteIfExists(cluster.pidFile());
    }

    private List<Long> find() {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(this::isOurs)
                .toList();
    }

    /** Looks again and again, since only a parent is told when a process ends; it takes a moment, and only after a crash. */
    private boolean gone(List<Long> pids, Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (pids.stream().anyMatch(this::isOurs)) {
            if (System.nanoTime() - deadline > 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
        }
        return true;
    }

    private boolean isOurs(long pid) {
        try {
            String title = title(pid);
            return (isPostmaster(title) || title.startsWith("postgres: " + cluster.name() + ": "))
                    && (int) Files.getAttribute(Path.of("/proc/" + pid), "unix:uid")
                            == installation.account().uid();
        } catch (IOException e) {
            return false;
        }
    }

    private boolean isPostmaster(String title) {
        int end = title.indexOf('\0');
        return end > 0
                && title.substring(0, end).endsWith("/postgres")
                && title.contains("\0cluster_name=" + cluster.name() + "\0");
    }

    /** Empty for a process that is gone, and for one that is dead but not reaped. */
    private static String title(long pid) {
        try {
            return new String(Files.readAllBytes(Path.of("/proc/" + pid + "/cmdline")), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }
}
