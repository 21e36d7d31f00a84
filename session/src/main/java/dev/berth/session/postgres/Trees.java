package dev.berth.session.postgres;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Whole directories: removed, and written through to the disk. Neither follows links. */
final class Trees {
    private Trees() {}

    static void remove(Path tree) throws IOException {
        try {
            Files.walkFileTree(tree, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.deleteIfExists(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
                        throws IOException {
                    return visitFile(directory, Files.readAttributes(directory, BasicFileAttributes.class));
                }
            });
        } catch (NoSuchFileException e) {
            // somebody else removed it, or a part of it, meanwhile
        }
    }

    /** Until this has returned, a loss of power may leave files empty although their names are there. */
    static void force(Path tree) throws IOException {
        Files.walkFileTree(tree, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (attributes.isRegularFile()) {
                    forceOne(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
                    throws IOException {
                forceOne(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    static void forceOne(Path path) throws IOException {
        // fsync(2) needs no permission to write, and a directory can only be opened for reading
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
