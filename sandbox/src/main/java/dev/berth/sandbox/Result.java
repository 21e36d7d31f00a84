package dev.berth.sandbox;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * A command's end with the output it left.
 *
 * @param truncated whether some of the output was not kept
 */
public record Result(Exit exit, byte[] stdoutBytes, byte[] stderrBytes, boolean truncated) {

    public String stdout() {
        return new String(stdoutBytes, StandardCharsets.UTF_8);
    }

    public String stderr() {
        return new String(stderrBytes, StandardCharsets.UTF_8);
    }

    public int code() {
        return exit.code();
    }

    /** Reads a command to its end, keeping the first {@code limit} bytes of each stream, and lets go of it. */
    static Result of(RunningCommand command, int limit) {
        try (command) {
            Collected stderr = new Collected(limit);
            FutureTask<Void> errors = new FutureTask<>(() -> stderr.drain(command.stderr()), null);
            Thread.ofVirtual().name("stderr").start(errors);
            Collected stdout = new Collected(limit);
            stdout.drain(command.stdout());
            errors.get();
            Exit exit = command.await();
            boolean truncated = stdout.full || stderr.full || command.dropped() > 0;
            if (truncated) {
                Set<Limit> hit = EnumSet.of(Limit.OUTPUT);
                hit.addAll(exit.limitsHit());
                exit = exit.withLimitsHit(hit);
            }
            return new Result(exit, stdout.bytes.toByteArray(), stderr.bytes.toByteArray(), truncated);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SandboxException(ErrorCode.UNAVAILABLE, "waiting for a command was interrupted", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SandboxException known) {
                throw known;
            }
            throw new SandboxException(ErrorCode.UNAVAILABLE, "reading a command's errors failed", e);
        }
    }

    private static final class Collected {
        private final int limit;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private boolean full;

        Collected(int limit) {
            this.limit = limit;
        }

        void drain(InputStream stream) {
            byte[] buffer = new byte[16_384];
            try (stream) {
                for (int n = stream.read(buffer); n >= 0; n = stream.read(buffer)) {
                    int taken = Math.min(n, limit - bytes.size());
                    bytes.write(buffer, 0, taken);
                    full |= taken < n;
                }
            } catch (IOException e) {
                // A stream can only throw this; what befell the command is its cause.
                if (e.getCause() instanceof SandboxException known) {
                    throw known;
                }
                throw SandboxException.unavailable("could not read what a command prints: " + e.getMessage(), e);
            }
        }
    }
}
