package dev.berth.session.artifact;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Set;
import java.util.UUID;

/**
 * Content by its hash, for each tenant apart: nobody can find out what others have by having the same.
 *
 * <p>A file is written beside its place and renamed into it when all of it is on the disk, so what has a hash as its name
 * is complete. What is there already is kept, with a new time: {@link #sweep} removes nothing that is young.
 */
final class ContentStore {
    /** As much of the beginning as is needed to tell what it is. */
    static final int HEAD = 128 << 10;

    private static final int BUFFER = 256 << 10;
    private static final long SPARE = 256L << 20;
    private static final String PARTIAL = ".partial";
    private static final String HASH = "[0-9a-f]{64}";

    private final Path directory;
    private final FileStore disk;

    /**
     * What was stored.
     *
     * @param head its first bytes
     */
    record Stored(String sha256, long size, byte[] head) {}

    private ContentStore(Path directory, FileStore disk) {
        this.directory = directory;
        this.disk = disk;
    }

    static ContentStore open(Path directory) {
        try {
            makeDirectory(directory);
            return new ContentStore(directory, Files.getFileStore(directory));
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not open the directory of artifacts " + directory + ": " + e
                            + "; check that it is a directory that this user may write to",
                    e);
        }
    }

    /** Keeps the bytes of a stream. */
    Stored put(String tenant, InputStream content) throws IOException {
        Path place = directory.resolve(tenant);
        makeDirectory(place);
        Path partial = place.resolve("." + UUID.randomUUID() + PARTIAL);
        try {
            Stored stored = write(content, partial);
            Path target = path(tenant, stored.sha256());
            makeDirectory(place.resolve(stored.sha256().substring(0, 2)));
            if (Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS)) {
                Files.setLastModifiedTime(target, FileTime.from(Instant.now()));
            } else {
                Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
            }
            return stored;
        } finally {
            Files.deleteIfExists(partial);
        }
    }

    private Stored write(InputStream content, Path file) throws IOException {
        MessageDigest digest = sha256();
        byte[] buffer = new byte[BUFFER];
        byte[] head = {};
        long size = 0;
        try (FileChannel out =
                FileChannel.open(file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), ownerOnly())) {
            for (int n = content.readNBytes(buffer, 0, BUFFER); n > 0; n = content.readNBytes(buffer, 0, BUFFER)) {
                requireSpace();
                digest.update(buffer, 0, n);
                if (size == 0) {
                    head = Arrays.copyOf(buffer, Math.min(n, HEAD));
                }
                for (ByteBuffer bytes = ByteBuffer.wrap(buffer, 0, n); bytes.hasRemaining(); ) {
                    out.write(bytes);
                }
                size += n;
            }
            out.force(true);
        }
        return new Stored(HexFormat.of().formatHex(digest.digest()), size, head);
    }

    /** What sandboxes leave must not fill the disk that everything else lives on. */
    private void requireSpace() throws IOException {
        if (disk.getUsableSpace() < SPARE) {
            throw new IOException("the disk of " + directory + " is nearly full");
        }
    }

    boolean has(String tenant, String sha256) {
        return Files.isRegularFile(path(tenant, sha256), LinkOption.NOFOLLOW_LINKS);
    }

    /** Opens content from an offset on. */
    InputStream open(String tenant, String sha256, long offset) {
        try {
            FileChannel channel = FileChannel.open(path(tenant, sha256), StandardOpenOption.READ);
            channel.position(offset);
            return java.nio.channels.Channels.newInputStream(channel);
        } catch (NoSuchFileException e) {
            throw SandboxException.gone("the content of this artifact is not on this server any more");
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read the content of an artifact; try again later", e);
        }
    }

    void remove(String tenant, String sha256) {
        try {
            Files.deleteIfExists(path(tenant, sha256));
        } catch (IOException e) {
            throw SandboxException.unavailable("could not remove the content " + sha256 + " from " + directory, e);
        }
    }

    /** One who says whether content that nobody touched for long is still in use. */
    interface Use {
        /** Removes it if nobody refers to it. */
        void settle(String tenant, String sha256);
    }

    /** Shows everything that was not touched since a time, and removes what was left half written before it. */
    void sweep(Instant since, Use use) {
        try (DirectoryStream<Path> tenants = Files.newDirectoryStream(directory, Files::isDirectory)) {
            for (Path tenant : tenants) {
                sweep(tenant, tenant.getFileName().toString(), since, use);
            }
        } catch (IOException e) {
            throw SandboxException.unavailable("could not look through the artifacts in " + directory, e);
        }
    }

    private static void sweep(Path place, String tenant, Instant since, Use use) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(place)) {
            for (Path entry : entries) {
                if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    sweep(entry, tenant, since, use);
                } else if (old(entry, since)) {
                    String name = entry.getFileName().toString();
                    if (name.matches(HASH)) {
                        use.settle(tenant, name);
                    } else if (name.endsWith(PARTIAL)) {
                        Files.deleteIfExists(entry);
                    }
                }
            }
        }
    }

    private static boolean old(Path file, Instant since) throws IOException {
        try {
            return Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS)
                    .toInstant()
                    .isBefore(since);
        } catch (NoSuchFileException e) {
            return false; // its owner has finished it, or somebody else has removed it
        }
    }

    private Path path(String tenant, String sha256) {
        return directory.resolve(tenant).resolve(sha256.substring(0, 2)).resolve(sha256);
    }

    private static void makeDirectory(Path place) throws IOException {
        Files.createDirectories(
                place, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    private static java.nio.file.attribute.FileAttribute<?> ownerOnly() {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
