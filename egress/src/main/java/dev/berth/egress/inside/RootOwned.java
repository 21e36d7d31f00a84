package dev.berth.egress.inside;

import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * Makes files that belong to the sandbox's root. What is written from outside belongs to the default user first; so that
 * this user cannot open it meanwhile and write to it later, perhaps to become root, it is made in a directory that only
 * root can enter, and moved when it is root's.
 */
final class RootOwned implements AutoCloseable {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int PRIVATE = 0700;
    private static final int ENTERABLE = 0755;

    private final SandboxFiles files;
    private final String directory;

    private RootOwned(SandboxFiles files, String directory) {
        this.files = files;
        this.directory = directory;
    }

    static RootOwned open(SandboxFiles files) {
        directory(files, Outfit.OWN);
        String directory = Outfit.OWN + "/." + random();
        files.makeDirectory(directory);
        files.chown(directory, 0, 0);
        files.chmod(directory, PRIVATE);
        return new RootOwned(files, directory);
    }

    /** With its missing parents. */
    private static void directory(SandboxFiles files, String path) {
        for (int slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
            one(files, path.substring(0, slash));
        }
        one(files, path);
    }

    private static void one(SandboxFiles files, String path) {
        if (!files.exists(path) && files.makeDirectory(path)) {
            files.chown(path, 0, 0);
            files.chmod(path, ENTERABLE);
        }
    }

    void write(String path, byte[] content, int mode) {
        directory(files, path.substring(0, path.lastIndexOf('/')));
        // Not to be guessed, as the directory could be written to until it was root's.
        String made = directory + "/" + random();
        files.write(made, new ByteArrayInputStream(content), mode);
        files.chown(made, 0, 0);
        files.move(made, path);
    }

    private static String random() {
        byte[] bytes = new byte[12];
        RANDOM.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    @Override
    public void close() {
        files.remove(directory);
    }
}
