package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * What a {@code copy} takes: a file or directory below the template file's directory. Links inside it are copied as
 * links and never followed, so nothing from elsewhere comes along.
 */
record CopySource(Path path) {

    static CopySource of(Script file, Instruction.Copy copy) throws IOException {
        String where = file.where(copy) + ": ";
        Path directory = file.directory()
                .orElseThrow(() -> SandboxException.invalid(where + "'copy' needs a template file in a directory"))
                .toRealPath();
        Path path;
        try {
            path = directory.resolve(copy.source()).toRealPath();
        } catch (NoSuchFileException e) {
            throw SandboxException.invalid(
                    where + "there is no '" + copy.source() + "' in " + directory + "; correct the path");
        }
        if (!path.startsWith(directory)) {
            throw SandboxException.invalid(where + "'" + copy.source() + "' is a link that leads out of " + directory
                    + "; put the files themselves there");
        }
        return new CopySource(path);
    }

    /** Names, modes and contents of everything in it. */
    String contentHash() throws IOException {
        Hash hash = new Hash();
        for (Path entry : entries()) {
            hash.add(path.relativize(entry).toString());
            if (Files.isSymbolicLink(entry)) {
                hash.add("link").add(Files.readSymbolicLink(entry).toString());
                continue;
            }
            hash.add(PosixFilePermissions.toString(Files.getPosixFilePermissions(entry)));
            if (Files.isRegularFile(entry, LinkOption.NOFOLLOW_LINKS)) {
                try (var in = Files.newInputStream(entry)) {
                    hash.add(in, Files.size(entry));
                }
            } else if (!Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                throw SandboxException.invalid("cannot copy " + entry
                        + " into a template: it is no file, directory or link; remove it from the source");
            }
        }
        return hash.result();
    }

    private List<Path> entries() throws IOException {
        try (var all = Files.walk(path)) {
            return all.sorted().toList();
        }
    }
}
