package dev.berth.session.postgres;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.tukaani.xz.XZInputStream;

/** PostgreSQL's programs as they lie on the class path: a tar file, compressed with xz. */
final class ProgramArchive {
    private final URL resource;

    private ProgramArchive(URL resource) {
        this.resource = resource;
    }

    static ProgramArchive find(String architecture) {
        String name = switch (architecture) {
            case "amd64" -> "/postgres-linux-x86_64.txz";
            case "aarch64" -> "/postgres-linux-arm_64.txz";
            default -> "/postgres-linux-" + architecture + ".txz";
        };
        URL resource = ProgramArchive.class.getResource(name);
        if (resource == null) {
            throw new SandboxException(
                    ErrorCode.UNSUPPORTED,
                    "could not start the embedded PostgreSQL: this build has none for " + architecture
                            + "; set DATABASE_URL to a PostgreSQL of your own");
        }
        return new ProgramArchive(resource);
    }

    /**
     * A name that changes with the content: its size and CRC-32. In a jar both stand in the central directory, so that a
     * start does not have to read 15 MB. A stronger hash would buy nothing: it only has to tell releases apart, and whoever
     * can put another archive on the class path can put classes there too.
     */
    String name() throws IOException {
        URLConnection connection = resource.openConnection();
        if (connection instanceof JarURLConnection jar) {
            jar.setUseCaches(false);
            try (JarFile file = jar.getJarFile()) {
                JarEntry entry = file.getJarEntry(jar.getEntryName());
                return name(entry.getSize(), entry.getCrc());
            }
        }
        try (CheckedInputStream in = new CheckedInputStream(connection.getInputStream(), new CRC32())) {
            long size = in.transferTo(OutputStream.nullOutputStream());
            return name(size, in.getChecksum().getValue());
        }
    }

    private static String name(long size, long crc) {
        return "%x-%08x".formatted(size, crc);
    }

    void extract(Path target) throws IOException {
        try (InputStream in = new XZInputStream(new BufferedInputStream(resource.openStream()))) {
            extract(in, target);
        }
    }

    /** Writes what a tar file holds below a directory, and refuses what would be elsewhere. */
    static void extract(InputStream tar, Path target) throws IOException {
        Path root = target.toRealPath();
        TarArchiveInputStream entries = new TarArchiveInputStream(tar);
        for (TarArchiveEntry entry = entries.getNextEntry(); entry != null; entry = entries.getNextEntry()) {
            Path path = inside(root, root, entry.getName(), entry);
            if (entry.isDirectory()) {
                makeDirectory(path);
                continue;
            }
            Path parent = path.getParent();
            if (path.equals(root) || parent == null) {
                throw refused(entry);
            }
            makeDirectory(parent);
            if (!parent.toRealPath().equals(parent)) {
                throw refused(entry); // a link that came before stands in its way
            }
            if (entry.isSymbolicLink()) {
                inside(root, parent, entry.getLinkName(), entry);
                Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
            } else if (entry.getLinkFlag() == TarConstants.LF_NORMAL) {
                Files.copy(entries, path); // never onto a file or through a link that is there
                boolean program = (entry.getMode() & 0100) != 0;
                Files.setPosixFilePermissions(
                        path, PosixFilePermissions.fromString(program ? "rwxr-xr-x" : "rw-r--r--"));
            } else {
                throw refused(entry);
            }
        }
    }

    /** Open to everybody whatever the umask is: the user who runs the programs is not the one who unpacks them. */
    private static void makeDirectory(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            Path parent = path.getParent();
            if (parent != null) {
                makeDirectory(parent);
            }
            Files.createDirectory(path);
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    private static Path inside(Path root, Path from, String name, TarArchiveEntry entry) throws IOException {
        Path path = from.resolve(name).normalize();
        if (name.startsWith("/") || !path.startsWith(root)) {
            throw refused(entry);
        }
        return path;
    }

    private static IOException refused(TarArchiveEntry entry) {
        return new IOException(
                "refused to unpack " + entry.getName() + ", which would not be a plain file below the target");
    }
}
