package dev.berth.sandbox.local.pack;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Writes a tree as one stream, with everything that overlayfs and the sandbox keep in it: whiteouts, extended attributes
 * of all kinds (access control lists and capabilities are some), owners as the host sees them, hard links, holes.
 * Sockets are left out: without the process that listens they are nothing.
 */
public final class TreePacker {
    private static final int BUFFER = 256 * 1024;
    private static final int KEPT_WORDS = 1000;
    private static final List<String> TAR = List.of(
            "tar",
            "--create",
            "--file=-",
            "--format=posix",
            // Without what tells nothing of the files: when they were read, and this tar's process id.
            "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
            "--numeric-owner",
            "--xattrs",
            "--xattrs-include=*",
            // Properties of the filesystem, which another may not have.
            "--xattrs-exclude=btrfs.*",
            "--sparse",
            "--sparse-version=1.0",
            "--warning=no-file-ignored");

    private TreePacker() {}

    /**
     * Writes a directory that nobody changes meanwhile. When the target throws, so does this, and what was written by
     * then is useless.
     *
     * @throws IOException the target's
     */
    public static void pack(Path directory, OutputStream target) throws IOException {
        Process tar = start(directory);
        try {
            LastWords words = new LastWords(tar.getErrorStream());
            PlatformWork.run("pack", () -> {
                pump(tar, target);
                end(tar, words);
            });
        } finally {
            tar.destroyForcibly();
        }
    }

    private static Process start(Path directory) {
        List<String> argv = new ArrayList<>(TAR);
        argv.addAll(List.of("--directory", directory.toString(), "."));
        ProcessBuilder builder = new ProcessBuilder(argv);
        // TAR_OPTIONS could say anything. In the C locale names are bytes, and messages are English.
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", "/usr/local/bin:/usr/bin:/bin", "LC_ALL", "C"));
        try {
            Process tar = builder.start();
            tar.getOutputStream().close();
            return tar;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not start tar to pack the files: " + e.getMessage(), e);
        }
    }

    /** A read from a pipe does not hear an interrupt, but tar writes on for as long as it lives. */
    private static void pump(Process tar, OutputStream target) throws IOException {
        byte[] buffer = new byte[BUFFER];
        InputStream stream = tar.getInputStream();
        while (true) {
            PlatformWork.checkInterrupt();
            int n = stream.read(buffer);
            if (n < 0) {
                return;
            }
            target.write(buffer, 0, n);
        }
    }

    private static void end(Process tar, LastWords words) {
        try {
            int status = tar.waitFor();
            if (status != 0) {
                throw SandboxException.unavailable("could not pack the files: "
                        + (status == 1 ? "they were changed meanwhile, try again: " : "tar failed: ")
                        + words.await());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while packing files", e);
        }
    }

    /** The end of what a process says about its failures. It is read all the time, or the process would wait for that. */
    private static final class LastWords {
        /** Written by the reader, read when that has ended. */
        private final StringBuilder words = new StringBuilder();

        private final Thread reader;

        LastWords(InputStream from) {
            reader = Thread.ofPlatform().daemon().name("tar's words").start(() -> read(from));
        }

        private void read(InputStream from) {
            byte[] buffer = new byte[KEPT_WORDS];
            try (from) {
                for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                    words.append(new String(buffer, 0, n, StandardCharsets.ISO_8859_1));
                    words.delete(0, Math.max(0, words.length() - KEPT_WORDS));
                }
            } catch (IOException e) {
                // It was killed; what it said until now is what there is.
            }
        }

        String await() throws InterruptedException {
            reader.join();
            return words.toString().strip().replace('\n', ' ');
        }
    }
}
