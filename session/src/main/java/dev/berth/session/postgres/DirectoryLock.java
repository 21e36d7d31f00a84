package dev.berth.session.postgres;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One server at a time in a directory. The kernel releases it when its holder dies.
 *
 * <p>The file lock belongs to the whole process, and fcntl(2) drops it when <em>any</em> descriptor of the file is closed.
 * So within the process a set comes first, and only who is in it opens the file.
 */
final class DirectoryLock implements AutoCloseable {
    /** What this process holds. Guarded by itself. */
    private static final Set<Path> HELD = new HashSet<>();

    private final Path file;
    private final FileChannel channel;

    private DirectoryLock(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /** Empty when somebody has it. The directory is there, and its path is the real one. */
    static Optional<DirectoryLock> tryAcquire(Path directory) throws IOException {
        Path file = directory.resolve("lock");
        synchronized (HELD) {
            if (!HELD.add(file)) {
                return Optional.empty();
            }
        }
        FileChannel channel = null;
        boolean locked = false;
        try {
            channel = FileChannel.open(
                    file,
                    Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            locked = channel.tryLock() != null;
            return locked ? Optional.of(new DirectoryLock(file, channel)) : Optional.empty();
        } finally {
            if (!locked) {
                release(file, channel);
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (channel.isOpen()) {
            release(file, channel);
        }
    }

    private static void release(Path file, @Nullable FileChannel channel) throws IOException {
        try {
            if (channel != null) {
                channel.close();
            }
        } finally {
            synchronized (HELD) {
                HELD.remove(file);
            }
        }
    }
}
