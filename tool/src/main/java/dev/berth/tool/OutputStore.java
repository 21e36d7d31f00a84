package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outputs that were too long for a result, to be read later by their ids.
 *
 * <p>Each is two files on the server's disk, {@code <hash of the session>/<id>.stdout} and {@code .stderr}. The id is
 * random, and looked for under its session only, so another session's id is one that does not exist. Files are all there
 * is: what a server that died was writing is an output like any other, and goes with age as all do.
 *
 * <p>It is bounded three ways: each stream, which stops being kept there; the sum, by removing the oldest; and by age.
 * {@link #sweep()} has to be called now and then; a writer that finds the store full does so too.
 */
public final class OutputStore {
    private static final Logger LOG = LoggerFactory.getLogger(OutputStore.class);
    private static final Pattern ID = Pattern.compile("[0-9a-f]{32}");
    private static final Set<StandardOpenOption> NEW =
            EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);

    /** Which of the two. */
    public enum Stream {
        STDOUT,
        STDERR;

        private String suffix() {
            return "." + name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * What is kept.
     *
     * @param streamBytes of one stream of one output
     * @param totalBytes of all together
     * @param age for how long
     */
    public record Bounds(long streamBytes, long totalBytes, Duration age) {
        public static final Bounds DEFAULT = new Bounds(64L << 20, 4L << 30, Duration.ofHours(24));
    }

    /**
     * A part of an output.
     *
     * @param total how much of the stream is kept
     */
    public record Page(byte[] bytes, long offset, long total) {
        public boolean hasMore() {
            return offset + bytes.length < total;
        }
    }

    private final Path directory;
    private final Bounds bounds;
    private final InstantSource clock;
    private final RandomGenerator random;

    /** What the files have together, as far as is known. Guarded by this, as is sweeping. */
    private long used;

    private OutputStore(Path directory, Bounds bounds, InstantSource clock, RandomGenerator random) {
        this.directory = directory;
        this.bounds = bounds;
        this.clock = clock;
        this.random = random;
    }

    /** @param random has to be one that nobody can guess */
    public static OutputStore open(Path directory, Bounds bounds, InstantSource clock, RandomGenerator random) {
        try {
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException e) {
            throw new UncheckedIOException("could not make the directory of outputs " + directory, e);
        }
        OutputStore store = new OutputStore(directory, bounds, clock, random);
        store.sweep();
        return store;
    }

    /** @throws SandboxException {@code not_found} if this session has no such output, or not any more */
    public Page read(SessionKey session, String id, Stream stream, long offset, int limit) {
        if (offset < 0 || limit < 1) {
            throw SandboxException.invalid("an output is read from offset 0 on, and at least one byte of it");
        }
        if (!ID.matcher(id).matches()) {
            throw unknown(id);
        }
        try (FileChannel file = FileChannel.open(file(session, id, stream), StandardOpenOption.READ)) {
            long total = file.size();
            ByteBuffer bytes = ByteBuffer.allocate(Math.clamp(total - offset, 0, limit));
            while (bytes.hasRemaining() && file.read(bytes, offset + bytes.position()) >= 0) {
                // until it is full
            }
            byte[] read = new byte[bytes.position()];
            bytes.flip().get(read);
            return new Page(read, offset, total);
        } catch (NoSuchFileException e) {
            throw (SandboxException) unknown(id).initCause(e);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read output " + id + "; try again", e);
        }
    }

    private SandboxException unknown(String id) {
        return SandboxException.notFound("this session has no output '" + id + "'. Outputs are kept for "
                + bounds.age().toHours() + " h, or less when the disk is full; run the command again");
    }

    /** Removes what is too old, and then the oldest until the rest is not too much. */
    public void sweep() {
        sweep(0);
    }

    /** @param room how much has to fit in besides */
    private synchronized void sweep(int room) {
        record Kept(Path path, long size, Instant written) {}
        List<Kept> all = new ArrayList<>();
        Instant oldest = clock.instant().minus(bounds.age());
        try {
            for (Path session : entries(directory)) {
                for (Path path : entries(session)) {
                    BasicFileAttributes attributes = attributes(path).orElse(null);
                    if (attributes == null) {
                        continue;
                    }
                    Instant written = attributes.lastModifiedTime().toInstant();
                    if (written.isBefore(oldest)) {
                        Files.deleteIfExists(path);
                    } else {
                        all.add(new Kept(path, attributes.size(), written));
                    }
                }
                deleteIfEmpty(session);
            }
            used = all.stream().mapToLong(Kept::size).sum();
            all.sort(Comparator.comparing(Kept::written));
            // A tenth more than needed, so that a full store is not swept for each next write.
            long total = bounds.totalBytes();
            long target = used + room > total ? total / 10 * 9 - room : total;
            for (Kept kept : all) {
                if (used <= target) {
                    break;
                }
                Files.deleteIfExists(kept.path());
                used -= kept.size();
            }
        } catch (IOException e) {
            LOG.warn("could not sweep the outputs in {}", directory, e);
        }
    }

    /** Removes all outputs of a session that is deleted. */
    public void remove(SessionKey session) {
        Path of = directory(session);
        try {
            for (Path path : entries(of)) {
                Files.deleteIfExists(path);
            }
            deleteIfEmpty(of);
        } catch (IOException e) {
            LOG.warn("could not remove the outputs of session {}; they go with age", session, e);
        }
    }

    /** A new output, to be closed when all of it is written. */
    Writing begin(SessionKey session) {
        byte[] id = new byte[16];
        random.nextBytes(id);
        return new Writing(session, HexFormat.of().formatHex(id));
    }

    private synchronized boolean reserve(int bytes) {
        if (used + bytes > bounds.totalBytes()) {
            sweep(bytes);
        }
        if (used + bytes > bounds.totalBytes()) {
            return false;
        }
        used += bytes;
        return true;
    }

    /** An output that is being written. Each stream may have a thread of its own. What cannot be kept is left out. */
    final class Writing implements AutoCloseable {
        private final String id;
        private final Map<Stream, Target> targets = new EnumMap<>(Stream.class);

        private Writing(SessionKey session, String id) {
            this.id = id;
            for (Stream stream : Stream.values()) {
                targets.put(stream, new Target(file(session, id, stream)));
            }
        }

        String id() {
            return id;
        }

        void write(Stream stream, byte[] bytes, int offset, int length) {
            target(stream).write(bytes, offset, length);
        }

        long kept(Stream stream) {
            return target(stream).kept;
        }

        private Target target(Stream stream) {
            return Objects.requireNonNull(targets.get(stream));
        }

        @Override
        public void close() {
            targets.values().forEach(Target::close);
        }
    }

    /** Used by one thread at a time. */
    private final class Target {
        private final Path file;
        private Optional<OutputStream> open = Optional.empty();
        private boolean ended;
        private long kept;

        Target(Path file) {
            this.file = file;
        }

        void write(byte[] bytes, int offset, int length) {
            int n = (int) Math.min(length, bounds.streamBytes() - kept);
            if (ended || (n < length && n == 0) || !reserve(n)) {
                ended = true;
                return;
            }
            try {
                if (open.isEmpty()) {
                    open = Optional.of(create());
                }
                open.get().write(bytes, offset, n);
                kept += n;
                ended = n < length;
            } catch (IOException e) {
                // The call whose output it is goes on; its result says how much was kept.
                ended = true;
                LOG.warn("could not keep more of the output {}", file, e);
            }
        }

        private OutputStream create() throws IOException {
            synchronized (OutputStore.this) { // a sweep removes empty directories
                Files.createDirectories(
                        file.resolveSibling(""),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
                return Channels.newOutputStream(FileChannel.open(
                        file, NEW, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
            }
        }

        void close() {
            try {
                if (open.isPresent()) {
                    open.get().close();
                }
            } catch (IOException e) {
                LOG.warn("could not close the output {}", file, e);
            }
        }
    }

    private Path file(SessionKey session, String id, Stream stream) {
        return directory(session).resolve(id + stream.suffix());
    }

    private Path directory(SessionKey session) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256")
                    .digest(session.toString().getBytes(StandardCharsets.UTF_8));
            return directory.resolve(HexFormat.of().formatHex(hash, 0, 16));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    private static List<Path> entries(Path directory) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            List<Path> found = new ArrayList<>();
            entries.forEach(found::add);
            return found;
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        }
    }

    private static Optional<BasicFileAttributes> attributes(Path path) throws IOException {
        try {
            return Optional.of(Files.readAttributes(path, BasicFileAttributes.class));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private static void deleteIfEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            LOG.trace("{} has outputs", directory, e);
        }
    }
}
