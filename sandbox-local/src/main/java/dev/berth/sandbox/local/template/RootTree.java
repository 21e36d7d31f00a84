package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Writes into a root filesystem from outside. Every directory on the way has to be a real one: a link would lead to the
 * host's files.
 */
final class RootTree {
    private static final int GUEST_MODE = 0755;

    /** Of what is read here; whoever made the files may have made them as large as the disk. */
    private static final int LARGEST = 1 << 20;

    private final Path root;

    RootTree(Path root) {
        this.root = root;
    }

    /** Makes a directory with this mode and owner, or gives it to them when it is there. */
    RootTree directory(String path, int mode, int id) throws IOException {
        Path target = resolve(path);
        if (!Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
            if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
                throw notOurs(path, "a directory");
            }
            Files.createDirectory(target);
        }
        return own(target, mode, id, id);
    }

    RootTree directory(String path) throws IOException {
        return directory(path, 0755, 0);
    }

    RootTree file(String path, String content) throws IOException {
        return file(path, content.getBytes(StandardCharsets.UTF_8), 0644, 0, 0);
    }

    RootTree file(String path, byte[] content, int mode, int uid, int gid) throws IOException {
        Path target = resolve(path);
        Files.deleteIfExists(target);
        Files.write(target, content);
        return own(target, mode, uid, gid);
    }

    RootTree link(String path, String to) throws IOException {
        Path target = resolve(path);
        Files.createSymbolicLink(target, Path.of(to));
        Files.setAttribute(target, "unix:uid", IdMap.toHost(0), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(target, "unix:gid", IdMap.toHost(0), LinkOption.NOFOLLOW_LINKS);
        return this;
    }

    /** What every sandbox needs to be there: its mount points, and those of the guest. */
    RootTree mountPoints() throws IOException {
        directory("/").directory("/proc").directory("/sys").directory("/dev").directory("/run");
        directory("/tmp", 01777, 0).directory("/.berth").directory("/.berth/link");
        return file("/.berth/guest", new byte[0], GUEST_MODE, 0, 0);
    }

    boolean isRegularFile(String path) throws IOException {
        return Files.isRegularFile(resolve(path), LinkOption.NOFOLLOW_LINKS);
    }

    /** Whatever it is, also a link that leads nowhere. */
    boolean isThere(String path) throws IOException {
        return Files.exists(resolve(path), LinkOption.NOFOLLOW_LINKS);
    }

    String read(String path) throws IOException {
        if (!isRegularFile(path)) {
            throw notOurs(path, "a file");
        }
        try (InputStream in = Files.newInputStream(resolve(path), LinkOption.NOFOLLOW_LINKS)) {
            byte[] content = in.readNBytes(LARGEST + 1);
            if (content.length > LARGEST) {
                throw notOurs(path, "at most " + (LARGEST >> 20) + " MB");
            }
            return new String(content, StandardCharsets.UTF_8);
        }
    }

    private RootTree own(Path target, int mode, int uid, int gid) throws IOException {
        Files.setAttribute(target, "unix:uid", IdMap.toHost(uid), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(target, "unix:gid", IdMap.toHost(gid), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(target, "unix:mode", mode, LinkOption.NOFOLLOW_LINKS);
        return this;
    }

    private Path resolve(String path) throws IOException {
        Path at = root;
        Path relative = Path.of("/").relativize(Path.of(path));
        for (int i = 0; i < relative.getNameCount() - 1; i++) {
            at = at.resolve(relative.getName(i));
            if (!Files.isDirectory(at, LinkOption.NOFOLLOW_LINKS)) {
                throw notOurs(path, "in real directories");
            }
        }
        return root.resolve(relative);
    }

    private static SandboxException notOurs(String path, String expected) {
        return SandboxException.invalid("a template's " + path + " has to be " + expected
                + " and is something else; change the step that made it");
    }
}
