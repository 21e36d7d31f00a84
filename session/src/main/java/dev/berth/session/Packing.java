package dev.berth.session;

import com.github.luben.zstd.ZstdInputStream;
import com.github.luben.zstd.ZstdOutputStream;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.io.BufferedOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.UUID;
import java.util.function.BooleanSupplier;

/** Puts the files of a sandbox into an archive, and takes them out again unharmed or not at all. */
final class Packing {
    private static final String SUFFIX = ".spool";
    private static final Duration ABANDONED = Duration.ofHours(6);
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final int MOST_TIMES_THE_DISK = 3;
    private static final long LEAST = 64 << 20;

    private final Path spool;
    private final Archives archives;
    /** In each archive's name: several installations may keep theirs in one place. */
    private final String installation;

    Packing(Path spool, Archives archives, String installation) {
        this.spool = spool;
        this.archives = archives;
        this.installation = installation;
    }

    /** Removes what a server that was killed left; what is younger may be the work of another one. */
    void sweep() {
        try {
            Files.createDirectories(spool, OWNER_ONLY);
            try (DirectoryStream<Path> files = Files.newDirectoryStream(spool, "*" + SUFFIX)) {
                Instant abandoned = Instant.now().minus(ABANDONED);
                for (Path file : files) {
                    if (lastModified(file).isBefore(abandoned)) {
                        Files.deleteIfExists(file);
                    }
                }
            }
        } catch (IOException e) {
            throw SandboxException.unavailable("could not clear " + spool + ": " + e.getMessage(), e);
        }
    }

    /** Of one that its owner removed just now, this very moment. */
    private static Instant lastModified(Path file) throws IOException {
        try {
            return Files.getLastModifiedTime(file).toInstant();
        } catch (NoSuchFileException e) {
            return Instant.now();
        }
    }

    boolean isOurs(String archive) {
        return archive.startsWith(installation + ".");
    }

    /** Somebody wants the sandbox that was being packed. */
    static final class Wanted extends IOException {
        Wanted() {
            super("somebody wants the session that was being archived");
        }
    }

    /** Packs a sandbox that does not run. It is durable when this returns. */
    SessionInfo.Archive pack(Sandbox sandbox, BooleanSupplier wanted) throws IOException {
        Path file = spoolFile();
        try {
            MessageDigest digest = Sha256.digest();
            try (OutputStream raw = Files.newOutputStream(file);
                    ZstdOutputStream zstd = new ZstdOutputStream(
                            new DigestOutputStream(new BufferedOutputStream(raw, 1 << 16), digest))) {
                zstd.setChecksum(true);
                sandbox.pack(new Bounded(zstd, wanted, most(sandbox)));
            }
            String name = installation + "." + sandbox.id() + "." + UUID.randomUUID() + ".zst";
            archives.put(name, file);
            return new SessionInfo.Archive(
                    name,
                    HexFormat.of().formatHex(digest.digest()),
                    Files.size(file),
                    sandbox.info().template());
        } finally {
            Files.deleteIfExists(file);
        }
    }

    /** What can be done with the unpacked bytes of an archive that was found to be whole. */
    interface Use<T> {
        T with(Path content) throws IOException;
    }

    /** Fetches and verifies an archive. */
    <T> T unpack(SessionInfo.Archive archive, Use<T> use) throws IOException {
        Path packed = spoolFile();
        Path content = spoolFile();
        try {
            archives.get(archive.name(), packed);
            MessageDigest digest = Sha256.digest();
            try (InputStream raw = new DigestInputStream(Files.newInputStream(packed), digest);
                    InputStream zstd = new ZstdInputStream(raw)) {
                Files.copy(zstd, content);
                raw.transferTo(OutputStream.nullOutputStream());
            } catch (IOException e) {
                throw broken(archive, e);
            }
            if (!HexFormat.of().formatHex(digest.digest()).equals(archive.sha256())) {
                throw broken(archive, new IOException("its hash is not the one it was stored with"));
            }
            Files.delete(packed);
            return use.with(content);
        } finally {
            Files.deleteIfExists(packed);
            Files.deleteIfExists(content);
        }
    }

    private static SandboxException broken(SessionInfo.Archive archive, IOException e) {
        return SandboxException.unavailable(
                "archive " + archive.name() + " is damaged (" + e.getMessage() + "); nothing was changed", e);
    }

    private Path spoolFile() throws IOException {
        Files.createDirectories(spool, OWNER_ONLY);
        return spool.resolve(UUID.randomUUID() + SUFFIX);
    }

    /**
     * Files that share their bytes on disk are packed one by one, so a hostile sandbox can pack far more than it may keep.
     * What is beyond this is refused, and the session stays stopped.
     */
    private static long most(Sandbox sandbox) {
        long disk = sandbox.limits().diskBytes();
        return disk == 0 ? Long.MAX_VALUE : Math.max(LEAST, MOST_TIMES_THE_DISK * disk);
    }

    private static final class Bounded extends FilterOutputStream {
        private final BooleanSupplier wanted;
        private long left;

        Bounded(OutputStream out, BooleanSupplier wanted, long most) {
            super(out);
            this.wanted = wanted;
            this.left = most;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            if (wanted.getAsBoolean()) {
                throw new Wanted();
            }
            left -= length;
            if (left < 0) {
                throw SandboxException.limit("the sandbox's files are larger, packed, than " + MOST_TIMES_THE_DISK
                        + " times its disk limit");
            }
            out.write(bytes, offset, length);
        }
    }
}
