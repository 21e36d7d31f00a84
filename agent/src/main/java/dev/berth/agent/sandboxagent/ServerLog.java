package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the server prints: that it listens, and the last of the rest for a complaint. */
final class ServerLog {
    private static final Logger LOG = LoggerFactory.getLogger(ServerLog.class);
    private static final String LISTENS = "server listening";
    private static final int COMPLAINT = 2000;

    private final StringBuilder printed = new StringBuilder();
    private boolean listens;
    private int open = 2;

    /** Reads on until the server is let go of. */
    static ServerLog of(RunningCommand command) {
        ServerLog log = new ServerLog();
        Thread.ofVirtual().name("sandbox-agent-out").start(() -> log.read(command.stdout()));
        Thread.ofVirtual().name("sandbox-agent-err").start(() -> log.read(command.stderr()));
        return log;
    }

    private void read(InputStream stream) {
        byte[] chunk = new byte[4096];
        try (stream) {
            for (int read = stream.read(chunk); read >= 0; read = stream.read(chunk)) {
                keep(new String(chunk, 0, read, UTF_8));
            }
        } catch (IOException | SandboxException e) {
            LOG.debug("what the server prints ended", e);
        } finally {
            ended();
        }
    }

    private synchronized void keep(String text) {
        printed.append(text);
        listens |= printed.indexOf(LISTENS) >= 0;
        printed.delete(0, Math.max(0, printed.length() - COMPLAINT));
        notifyAll();
    }

    private synchronized void ended() {
        open--;
        notifyAll();
    }

    /** @return false if it ended without listening, or did not listen in time */
    synchronized boolean awaitListening(Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        try {
            while (!listens && open > 0) {
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    return false;
                }
                wait(left);
            }
            return listens;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for sandbox-agent", e);
        }
    }

    /** To be added to a sentence. */
    synchronized String complaint() {
        String text = printed.toString().strip();
        return text.isEmpty() ? "" : "; sandbox-agent printed: " + text;
    }
}
