package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/** The files that lie beside these classes. */
final class Resources {
    private Resources() {}

    static String text(String name) {
        return find(name).orElseThrow(() -> new IllegalStateException("missing from the build: " + name));
    }

    static Optional<String> find(String name) {
        try (var in = Resources.class.getResourceAsStream(name)) {
            return in == null ? Optional.empty() : Optional.of(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Copies a file or directory into another directory, where it has the same name. False if there is none. */
    static boolean unpack(String name, Path into) throws IOException {
        URL found = Resources.class.getResource(name);
        if (found == null) {
            return false;
        }
        if (found.openConnection() instanceof JarURLConnection jar) {
            try (FileSystem files = FileSystems.newFileSystem(
                    Path.of(URI.create(jar.getJarFileURL().toString())))) {
                copy(files.getPath(jar.getEntryName()), into.resolve(name));
            }
        } else {
            copy(Path.of(URI.create(found.toString())), into.resolve(name));
        }
        return true;
    }

    /** What is copied is readable by everyone, however it is kept, so that the same files are the same template. */
    private static void copy(Path from, Path to) throws IOException {
        try (var all = Files.walk(from)) {
            for (Path entry : all.toList()) {
                Path target = to.resolve(from.relativize(entry).toString());
                boolean directory = Files.isDirectory(entry);
                if (directory) {
                    Files.createDirectories(target);
                } else {
                    Files.copy(entry, target);
                }
                Files.setPosixFilePermissions(
                        target, PosixFilePermissions.fromString(directory ? "rwxr-xr-x" : "rw-r--r--"));
            }
        }
    }
}
