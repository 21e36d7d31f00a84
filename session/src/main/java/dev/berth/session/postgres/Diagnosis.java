package dev.berth.session.postgres;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Optional;

/** Says why PostgreSQL could not be started, and what to do about it, as far as that can be seen from outside. */
record Diagnosis(PostgresConfig config, Account account) {
    /** Less than a new cluster takes. What initdb had to say about that does not get into a log on the same disk. */
    private static final long TIGHT = 64 << 20;

    private static final String NO_SPACE = "No space left on device";

    /** When a program ended badly. */
    SandboxException of(String failure, String lastWords) {
        String message = "could not start PostgreSQL in " + config.directory() + ": " + failure;
        long usable = usable();
        if (lastWords.contains(NO_SPACE) || usable < TIGHT) {
            String left = ": the disk is full, with " + (usable >> 20) + " MB left";
            return new SandboxException(ErrorCode.LIMIT, message + left + advice("free some space") + said(lastWords));
        }
        return SandboxException.unavailable(message
                + closed(config.directory())
                        .or(() -> closed(config.binaries()))
                        .map(path -> ": " + path + " is closed to its user" + advice("chmod o+x " + path))
                        .orElse("")
                + said(lastWords));
    }

    /** When a file could not be made, or a program not be found. */
    SandboxException of(IOException failure) {
        String message = "could not start PostgreSQL in " + config.directory() + ": ";
        String reason = String.valueOf(failure.getMessage());
        if (failure instanceof AccessDeniedException) {
            return SandboxException.unavailable(
                    message + "no permission for " + reason
                            + advice("give the server a data directory it can write to"),
                    failure);
        }
        if (reason.contains(NO_SPACE)) {
            return new SandboxException(
                    ErrorCode.LIMIT, message + "the disk is full" + advice("free some space"), failure);
        }
        if (reason.startsWith("Cannot run program \"" + account.setpriv() + "\"")) {
            return SandboxException.unavailable(
                    message + "there is no setpriv on this machine" + advice("install the package util-linux"),
                    failure);
        }
        return SandboxException.unavailable(message + reason, failure);
    }

    private static String advice(String what) {
        return "; " + what + ", or set DATABASE_URL to a PostgreSQL of your own";
    }

    private static String said(String lastWords) {
        return lastWords.isEmpty() ? "" : "\nIts last words:\n" + lastWords;
    }

    private long usable() {
        try {
            return Files.getFileStore(config.directory()).getUsableSpace();
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }

    /** The outermost directory on the way that PostgreSQL's user cannot pass. */
    private Optional<Path> closed(Path path) {
        Optional<Path> found = Optional.empty();
        Path directory = path.equals(config.directory()) ? path.getParent() : path;
        for (; account.root() && directory != null; directory = directory.getParent()) {
            try {
                if (!directory.equals(config.directory())
                        && !Files.getPosixFilePermissions(directory).contains(PosixFilePermission.OTHERS_EXECUTE)) {
                    found = Optional.of(directory);
                }
            } catch (IOException e) {
                // a directory that cannot be looked at is not known to be closed
            }
        }
        return found;
    }
}
