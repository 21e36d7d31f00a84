package dev.berth.sandbox.local.files;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;

/** The one place where an error number becomes a sentence. Sentences name paths of the sandbox, never of the host. */
final class FileErrors {
    private FileErrors() {}

    static SandboxException of(String doing, SandboxPath path, ErrnoException e) {
        return switch (e.errno()) {
            case ErrnoException.ENOENT, ErrnoException.ENOTDIR ->
                error(ErrorCode.NOT_FOUND, doing, path, "there is no such file or directory", "check the path", e);
            case ErrnoException.EEXIST ->
                error(ErrorCode.CONFLICT, doing, path, "it exists already", "use another name or remove it first", e);
            case ErrnoException.ENOTEMPTY ->
                error(ErrorCode.CONFLICT, doing, path, "the directory is not empty", "remove what is in it first", e);
            case ErrnoException.EBUSY, ErrnoException.ETXTBSY ->
                error(ErrorCode.CONFLICT, doing, path, "it is in use", "end what uses it first", e);
            case ErrnoException.EISDIR -> error(ErrorCode.INVALID, doing, path, "it is a directory", "name a file", e);
            case ErrnoException.ELOOP ->
                error(ErrorCode.INVALID, doing, path, "its links lead in a circle", "use the path without links", e);
            case ErrnoException.ENAMETOOLONG, ErrnoException.ERANGE, ErrnoException.E2BIG ->
                error(ErrorCode.INVALID, doing, path, "the name or value is too long", "use a shorter one", e);
            case ErrnoException.EXDEV ->
                error(
                        ErrorCode.INVALID,
                        doing,
                        path,
                        "it would cross from one filesystem or template layer to another",
                        "use cp or mv in a command in the sandbox",
                        e);
            case ErrnoException.EINVAL ->
                error(ErrorCode.INVALID, doing, path, "it cannot be done with this path", "use another", e);
            case ErrnoException.ENOSPC, ErrnoException.EDQUOT ->
                error(ErrorCode.LIMIT, doing, path, "the disk of the sandbox is full", "remove files first", e)
                        .with(SandboxException.LIMIT, "disk");
            case ErrnoException.EFBIG ->
                error(ErrorCode.LIMIT, doing, path, "the file would become too large", "write a smaller one", e);
            case ErrnoException.EROFS ->
                error(ErrorCode.DENIED, doing, path, "the filesystem is read-only", "use another directory", e);
            case ErrnoException.EACCES, ErrnoException.EPERM ->
                error(ErrorCode.DENIED, doing, path, "it is not permitted", "use another file", e);
            case ErrnoException.EAGAIN, ErrnoException.ESTALE ->
                error(
                        ErrorCode.UNAVAILABLE,
                        doing,
                        path,
                        "a process in the sandbox holds it or keeps changing its directories",
                        "try again",
                        e);
            case ErrnoException.EMFILE, ErrnoException.ENFILE, ErrnoException.ENOMEM ->
                error(
                        ErrorCode.UNAVAILABLE,
                        doing,
                        path,
                        "the server has too many open files or too little memory",
                        "try again later",
                        e);
            default -> error(ErrorCode.UNAVAILABLE, doing, path, ErrnoException.describe(e.errno()), "try again", e);
        };
    }

    static SandboxException outside(SandboxPath path) {
        return SandboxException.denied(
                "could not use " + path + ": it leads outside of the workspace; use a path that stays inside");
    }

    static SandboxException notAFile(String doing, SandboxPath path, Stat stat) {
        return SandboxException.invalid("could not " + doing + " " + path + ": it "
                + (stat.isDirectory() ? "is a directory, " : "") + "is not a regular file; name a regular file");
    }

    static SandboxException notADirectory(String doing, SandboxPath path) {
        return SandboxException.invalid(
                "could not " + doing + " " + path + ": it is not a directory; name a directory");
    }

    static SandboxException error(
            ErrorCode code, String doing, SandboxPath path, String why, String next, Throwable cause) {
        return new SandboxException(code, "could not " + doing + " " + path + ": " + why + "; " + next, cause);
    }
}
