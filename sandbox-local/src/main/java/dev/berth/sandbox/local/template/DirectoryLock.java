package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/**
 * A lock on a file that holds between processes and between threads, and that the kernel releases when its holder dies.
 *
 * <p>The file lock alone is not enough: it belongs to the whole process, and fcntl(2) drops it when <em>any</em>
 * descriptor of the file is closed. So a semaphore comes first, and only its holder has the file open.
 */
final class DirectoryLock implements AutoCloseable {
    private static final ConcurrentHashMap<Path, Semaphore> IN_PROCESS = new ConcurrentHashMap<>();

    private final Semaphore semaphore;
    private final FileChannel channel;

    private DirectoryLock(Semaphore semaphore, FileChannel channel) {
        this.semaphore = semaphore;
        this.channel = channel;
    }

    /** Waits for as long as it takes. */
    static DirectoryLock acquire(Path file) {
        try {
            Semaphore semaphore = semaphore(file);
            semaphore.acquire();
            return open(file, semaphore, true).orElseThrow();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for " + file, e);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not lock " + file + ": " + e.getMessage(), e);
        }
    }

    /** Empty when somebody holds it. */
    static Optional<DirectoryLock> tryAcquire(Path file) {
        try {
            Semaphore semaphore = semaphore(file);
            return semaphore.tryAcquire() ? open(file, semaphore, false) : Optional.empty();
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
            semaphore.release();
        }
    }

    private static Semaphore semaphore(Path file) throws IOException {
        Path directory = file.toAbsolutePath().getParent();
        Path real = directory == null ? file : directory.toRealPath().resolve(file.getFileName());
        return IN_PROCESS.computeIfAbsent(real, path -> new Semaphore(1));
    }

    private static Optional<DirectoryLock> open(Path file, Semaphore held, boolean wait) throws IOException {
        FileChannel channel = null;
        boolean locked = false;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock lock = wait ? channel.lock() : channel.tryLock();
            locked = lock != null;
            return locked ? Optional.of(new DirectoryLock(held, channel)) : Optional.empty();
        } finally {
            if (!locked) {
                if (channel != null) {
                    channel.close();
                }
                held.release();
            }
        }
    }
}
