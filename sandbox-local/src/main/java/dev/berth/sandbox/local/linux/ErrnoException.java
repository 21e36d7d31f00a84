package dev.berth.sandbox.local.linux;

import java.io.IOException;

/** A system call that failed, with its error number. */
public final class ErrnoException extends IOException {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int EACCES = 13;
    public static final int EBUSY = 16;
    public static final int EEXIST = 17;
    public static final int EXDEV = 18;
    public static final int ENODEV = 19;
    public static final int ENOTDIR = 20;
    public static final int EISDIR = 21;
    public static final int EINVAL = 22;
    public static final int ENFILE = 23;
    public static final int EMFILE = 24;
    public static final int ENOTTY = 25;
    public static final int ETXTBSY = 26;
    public static final int EFBIG = 27;
    public static final int ENOSPC = 28;
    public static final int EROFS = 30;
    public static final int ERANGE = 34;
    public static final int ENAMETOOLONG = 36;
    public static final int ENOSYS = 38;
    public static final int ENOTEMPTY = 39;
    public static final int ELOOP = 40;
    public static final int ENOEXEC = 8;
    public static final int E2BIG = 7;
    public static final int ENODATA = 61;
    public static final int EOPNOTSUPP = 95;
    public static final int EADDRINUSE = 98;
    public static final int ECONNREFUSED = 111;
    public static final int ESTALE = 116;
    public static final int EDQUOT = 122;

    private final int errno;

    public ErrnoException(String call, int errno) {
        super(call + ": " + describe(errno));
        this.errno = errno;
    }

    public int errno() {
        return errno;
    }

    /** The words of strerror(3) for the numbers we meet. */
    public static String describe(int errno) {
        return switch (errno) {
            case EPERM -> "operation not permitted";
            case ENOENT -> "no such file or directory";
            case E2BIG -> "argument list too long";
            case ENOEXEC -> "not an executable format";
            case EAGAIN -> "resource temporarily unavailable";
            case ENOMEM -> "out of memory";
            case EACCES -> "permission denied";
            case EBUSY -> "busy";
            case EEXIST -> "exists already";
            case EXDEV -> "on another filesystem";
            case ENODEV -> "no such device";
            case ENOTDIR -> "not a directory";
            case EISDIR -> "is a directory";
            case EINVAL -> "invalid argument";
            case ENFILE, EMFILE -> "too many open files";
            case ETXTBSY -> "is a program that is running";
            case ESTALE -> "changed meanwhile";
            case ENOTTY -> "not supported by this filesystem";
            case EFBIG -> "file too large";
            case ENOSPC -> "no space left";
            case EDQUOT -> "disk limit reached";
            case EROFS -> "read-only filesystem";
            case ENAMETOOLONG -> "name too long";
            case ENOSYS -> "not supported by this kernel";
            case ENOTEMPTY -> "directory not empty";
            case ELOOP -> "too many links";
            case EOPNOTSUPP -> "not supported";
            case EADDRINUSE -> "address already in use";
            case ECONNREFUSED -> "connection refused";
            default -> "error " + errno;
        };
    }
}
