package dev.berth.sandbox.local;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.IOException;
import java.nio.file.FileSystemException;

/** What an I/O error of the machine is to the caller. */
final class Failures {
    private Failures() {}

    /** @param what what could not be done, as in "could not …" */
    static SandboxException of(String what, IOException e) {
        return noSpace(e)
                ? new SandboxException(
                        ErrorCode.LIMIT,
                        "could not " + what + ": the disk for sandboxes is full; destroy some that are not needed, or"
                                + " give the data directory more space",
                        e)
                : SandboxException.unavailable("could not " + what + ": " + e.getMessage(), e);
    }

    private static boolean noSpace(IOException e) {
        return switch (e) {
            case ErrnoException numbered ->
                numbered.errno() == ErrnoException.ENOSPC || numbered.errno() == ErrnoException.EDQUOT;
            // The only way in which java.nio tells the error number is by its text.
            case FileSystemException named -> "No space left on device".equals(named.getReason());
            default -> false;
        };
    }
}
