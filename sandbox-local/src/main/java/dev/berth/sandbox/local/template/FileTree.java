package dev.berth.sandbox.local.template;

import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** What is done to whole directories. Nothing here follows a symbolic link. */
final class FileTree {
    private FileTree() {}

    /** Removes a directory and all that is in it; one that is not there is fine. */
    static void delete(Path directory) throws IOException {
        Directories.remove(directory);
    }

    /** Removes everything in a directory, which may not be there. */
    static void deleteChildren(Path directory) throws IOException {
        if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            try (var children = Files.newDirectoryStream(directory)) {
                for (Path child : children) {
                    delete(child);
                }
            }
        }
    }

    /**
     * The bytes of all files; one with several hard links counts once. Counted by find(1), since whoever made the files
     * may have made them deeper than a path is long.
     */
    static long size(Path directory) throws IOException {
        Set<String> seen = new HashSet<>();
        long[] sum = {0};
        ExternalCommand.of(List.of("find", directory.toString(), "!", "-type", "d", "-printf", "%n %i %s\\n"))
                .run(line -> {
                    String[] file = line.split(" ", 3);
                    if (file.length == 3 && (file[0].equals("1") || seen.add(file[1]))) {
                        sum[0] += Long.parseLong(file[2]);
                    }
                })
                .orThrow();
        return sum[0];
    }

    /**
     * Gives everything to the ids that the sandbox's user namespace maps to: uid 0 becomes {@code IdMap.BASE} and so on.
     * What is shifted already is left alone, so files with several hard links, and trees done by half, come out right.
     */
    static void shiftOwners(Path directory) throws IOException {
        visitAll(directory, path -> own(path, shifted(stat(path, "uid")), shifted(stat(path, "gid"))));
    }

    /** Gives everything to one user of the sandbox. */
    static void setOwners(Path directory, int uid, int gid) throws IOException {
        visitAll(directory, path -> own(path, IdMap.toHost(uid), IdMap.toHost(gid)));
    }

    /** Makes a directory that only we may enter, and its parents. */
    static Path privateDirectory(Path directory) throws IOException {
        Path parent = directory.getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        if (!Files.isDirectory(directory)) {
            try {
                Files.createDirectory(
                        directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } catch (java.nio.file.FileAlreadyExistsException e) {
                // another process was faster
            }
        }
        return directory;
    }

    private static int shifted(int id) {
        return id >= IdMap.BASE && id < IdMap.BASE + IdMap.SIZE ? id : IdMap.toHost(id);
    }

    /** chown(2) takes the set-user-id and set-group-id bits away, so the mode is put back after it. */
    private static void own(Path path, int uid, int gid) throws IOException {
        int mode = stat(path, "mode");
        if (stat(path, "uid") != uid) {
            Files.setAttribute(path, "unix:uid", uid, LinkOption.NOFOLLOW_LINKS);
        }
        if (stat(path, "gid") != gid) {
            Files.setAttribute(path, "unix:gid", gid, LinkOption.NOFOLLOW_LINKS);
        }
        if ((mode & 06000) != 0 && !Files.isSymbolicLink(path)) {
            Files.setAttribute(path, "unix:mode", mode & 07777, LinkOption.NOFOLLOW_LINKS);
        }
    }

    private static int stat(Path path, String field) throws IOException {
        Object value = Files.getAttribute(path, "unix:" + field, LinkOption.NOFOLLOW_LINKS);
        return (int) Objects.requireNonNull(value);
    }

    private interface Visit {
        void to(Path path) throws IOException;
    }

    private static void visitAll(Path directory, Visit visit) throws IOException {
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) throws IOException {
                visit.to(dir);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                visit.to(file);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
