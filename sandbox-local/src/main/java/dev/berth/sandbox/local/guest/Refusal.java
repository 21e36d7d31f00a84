package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;

/** What a REFUSED of the guest means to the caller. */
final class Refusal {
    private static final int FORK = 1;
    private static final int CWD = 2;
    private static final int USER = 3;
    private static final int EXEC = 4;
    private static final int TABLE = 5;
    private static final int TERMINAL = 6;
    private static final int DIAL = 7;
    private static final int UNKNOWN = 9;

    private Refusal() {}

    static SandboxException of(int stage, int errno) {
        String why = ErrnoException.describe(errno);
        return switch (stage) {
            case FORK ->
                errno == ErrnoException.EAGAIN
                        ? SandboxException.limit("could not start the command: the sandbox is at its pids limit")
                        : SandboxException.limit("could not start the command: the sandbox is at its memory limit");
            case CWD ->
                SandboxException.invalid(
                        errno == ErrnoException.ENOENT
                                ? "could not start the command: its working directory does not exist in the sandbox"
                                : "could not start the command in its working directory: " + why);
            case USER -> SandboxException.invalid("could not start the command as that user: " + why);
            case EXEC ->
                switch (errno) {
                    case ErrnoException.ENOENT ->
                        SandboxException.notFound(
                                "could not start the command: there is no such program in the sandbox");
                    case ErrnoException.EACCES, ErrnoException.ENOEXEC, ErrnoException.EISDIR, ErrnoException.EPERM ->
                        SandboxException.denied(
                                "could not start the command: its program is not executable (" + why + ")");
                    case ErrnoException.ENOMEM, ErrnoException.EAGAIN ->
                        SandboxException.limit("could not start the command: " + why);
                    default -> SandboxException.invalid("could not start the command: " + why);
                };
            case TABLE ->
                SandboxException.limit(
                        "the sandbox holds too many commands or connections; close some that have ended");
            case TERMINAL -> SandboxException.unavailable("could not open a terminal in the sandbox: " + why);
            case DIAL ->
                errno == ErrnoException.ECONNREFUSED
                        ? SandboxException.notFound("nothing listens on that port in the sandbox")
                        : SandboxException.unavailable("could not connect inside the sandbox: " + why);
            case UNKNOWN -> SandboxException.notFound("the sandbox has no such command any more");
            default -> SandboxException.unavailable("the guest refused: stage " + stage + ", " + why);
        };
    }
}
