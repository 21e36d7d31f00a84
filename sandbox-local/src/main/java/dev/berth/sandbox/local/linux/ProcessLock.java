package dev.berth.sandbox.local.linux;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/**
 * A lock on a file that holds between processes and between threads, and that the kernel releases when its holder dies.
 *
 * <p>The file lock alone is not enough: it belongs to the whole process, and fcntl(2) drops it when <em>any</em>
 * descriptor of the file is closed. So a semaphore comes first, and only its holder has the file open. For the same
 * reason nobody may open the file for anything else.
 *
 * <p>A holder may remove the file. Whoever waited for it then has the lock of a file that is nobody's any more, so that
 * the file is looked for once more. That is enough if only one ever makes it, as with names that are random.
 */
public final class ProcessLock implements AutoCloseable {
    /** One turnstile for each file that somebody in this process holds or waits for. Guarded by itself. */
    private static final Map<Path, Turnstile> TURNSTILES = new HashMap<>();

    private static final class Turnstile {
        private final Semaphore semaphore = new Semaphore(1);
        private int users;
    }

    private final Path file;
    private final FileChannel channel;

    private ProcessLock(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /** Waits for as long as it takes. */
    public static ProcessLock acquire(Path file) {
        try {
            Path real = real(file);
            while (true) {
                enter(real).acquire();
                Optional<ProcessLock> lock = open(real, true, true);
                if (lock.isPresent()) {
                    return lock.get();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for " + file, e);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not lock " + file + ": " + e.getMessage(), e);
        }
    }

    /** Empty when somebody holds it, or removed it just now. */
    public static Optional<ProcessLock> tryAcquire(Path file) {
        return tryAcquire(file, true);
    }

    /** Empty when somebody holds it or there is no such file. */
    public static Optional<ProcessLock> tryAcquireExisting(Path file) {
        return tryAcquire(file, false);
    }

    private static Optional<ProcessLock> tryAcquire(Path file, boolean create) {
        try {
            Path real = real(file);
            if (!enter(real).tryAcquire()) {
                leave(real, false);
                return Optional.empty();
            }
            return open(real, false, create);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not lock " + file + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not release a lock: " + e.getMessage(), e);
        } finally {
            leave(file, true);
        }
    }

    private static Path real(Path file) throws IOException {
        Path directory = file.toAbsolutePath().getParent();
        return directory == null ? file : directory.toRealPath().resolve(file.getFileName());
    }

    private static Semaphore enter(Path file) {
        synchronized (TURNSTILES) {
            Turnstile turnstile = TURNSTILES.computeIfAbsent(file, path -> new Turnstile());
            turnstile.users++;
            return turnstile.semaphore;
        }
    }

    private static void leave(Path file, boolean holding) {
        synchronized (TURNSTILES) {
            Turnstile turnstile = TURNSTILES.get(file);
            if (turnstile == null) {
                return;
            }
            if (holding) {
                turnstile.semaphore.release();
            }
            turnstile.users--;
            if (turnstile.users == 0) {
                TURNSTILES.remove(file);
            }
        }
    }

    private static Optional<ProcessLock> open(Path file, boolean wait, boolean create) throws IOException {
        FileChannel channel = null;
        boolean locked = false;
        try {
            channel = create
                    ? FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)
                    : FileChannel.open(file, StandardOpenOption.WRITE);
            locked = (wait ? channel.lock() : channel.tryLock()) != null && Files.exists(file);
            return locked ? Optional.of(new ProcessLock(file, channel)) : Optional.empty();
        } finally {
            if (!locked) {
                if (channel != null) {
                    channel.close();
                }
                leave(file, true);
            }
        }
    }
}
