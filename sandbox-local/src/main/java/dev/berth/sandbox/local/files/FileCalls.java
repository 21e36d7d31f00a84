package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The system calls on files that Java has no words for: relative to an open directory, and resolved inside a root.
 *
 * <p>Names and paths are bytes, because that is what they are to the kernel.
 */
final class FileCalls {
    private static final boolean ARM64 = "aarch64".equals(System.getProperty("os.arch"));

    static final int O_RDONLY = 0;
    static final int O_WRONLY = 1;
    static final int O_CREAT = 0x40;
    static final int O_EXCL = 0x80;
    static final int O_NOCTTY = 0x100;
    static final int O_APPEND = 0x400;
    static final int O_NONBLOCK = 0x800;
    static final int O_DIRECTORY = ARM64 ? 0x4000 : 0x10000;
    static final int O_NOFOLLOW = ARM64 ? 0x8000 : 0x20000;
    static final int O_CLOEXEC = 0x80000;
    static final int O_PATH = 0x200000;

    static final long RESOLVE_NO_XDEV = 0x01;
    static final long RESOLVE_NO_MAGICLINKS = 0x02;
    static final long RESOLVE_NO_SYMLINKS = 0x04;
    static final long RESOLVE_BENEATH = 0x08;
    static final long RESOLVE_IN_ROOT = 0x10;

    static final int AT_SYMLINK_NOFOLLOW = 0x100;
    static final int AT_EMPTY_PATH = 0x1000;

    private static final int AT_FDCWD = -100;
    private static final int AT_REMOVEDIR = 0x200;
    private static final long UTIME_OMIT = (1L << 30) - 2;
    private static final int AT_NO_AUTOMOUNT = 0x800;
    /** The same number on every architecture, as all calls since Linux 5.1. */
    private static final long SYS_OPENAT2 = 437;

    private static final long SYS_MKNODAT = ARM64 ? 33 : 259;

    private static final long OPEN_HOW_SIZE = 24;
    private static final int PATH_MAX = 4096;

    private static final MethodHandle SYSCALL =
            Libc.bindVariadic("syscall", FunctionDescriptor.of(LONG, LONG, LONG, POINTER, POINTER, LONG), 1);
    private static final MethodHandle OPENAT =
            Libc.bindVariadic("openat", FunctionDescriptor.of(INT, INT, POINTER, INT, INT), 3);
    private static final MethodHandle CLOSE = Libc.bind("close", FunctionDescriptor.of(INT, INT));
    private static final MethodHandle PWRITE =
            Libc.bind("pwrite", FunctionDescriptor.of(LONG, INT, POINTER, LONG, LONG));
    private static final MethodHandle STATX =
            Libc.bind("statx", FunctionDescriptor.of(INT, INT, POINTER, INT, INT, POINTER));
    private static final MethodHandle READLINKAT =
            Libc.bind("readlinkat", FunctionDescriptor.of(LONG, INT, POINTER, POINTER, LONG));
    private static final MethodHandle MKDIRAT = Libc.bind("mkdirat", FunctionDescriptor.of(INT, INT, POINTER, INT));
    private static final MethodHandle UNLINKAT = Libc.bind("unlinkat", FunctionDescriptor.of(INT, INT, POINTER, INT));
    private static final MethodHandle RENAMEAT =
            Libc.bind("renameat", FunctionDescriptor.of(INT, INT, POINTER, INT, POINTER));
    private static final MethodHandle CHMOD = Libc.bind("chmod", FunctionDescriptor.of(INT, POINTER, INT));
    private static final MethodHandle FTRUNCATE = Libc.bind("ftruncate", FunctionDescriptor.of(INT, INT, LONG));
    /** glibc has a function of that name since 2.33 only. */
    private static final MethodHandle SYSCALL_MKNODAT =
            Libc.bindVariadic("syscall", FunctionDescriptor.of(LONG, LONG, LONG, POINTER, LONG, LONG), 1);

    private static final MethodHandle SYMLINKAT =
            Libc.bind("symlinkat", FunctionDescriptor.of(INT, POINTER, INT, POINTER));
    private static final MethodHandle LINKAT =
            Libc.bind("linkat", FunctionDescriptor.of(INT, INT, POINTER, INT, POINTER, INT));
    private static final MethodHandle SETXATTR =
            Libc.bind("setxattr", FunctionDescriptor.of(INT, POINTER, POINTER, POINTER, LONG, INT));
    private static final MethodHandle LISTXATTR =
            Libc.bind("listxattr", FunctionDescriptor.of(LONG, POINTER, POINTER, LONG));
    private static final MethodHandle GETXATTR =
            Libc.bind("getxattr", FunctionDescriptor.of(LONG, POINTER, POINTER, POINTER, LONG));
    private static final MethodHandle REMOVEXATTR =
            Libc.bind("removexattr", FunctionDescriptor.of(INT, POINTER, POINTER));
    private static final MethodHandle UTIMENSAT =
            Libc.bind("utimensat", FunctionDescriptor.of(INT, INT, POINTER, POINTER, INT));
    private static final MethodHandle FCHOWNAT =
            Libc.bind("fchownat", FunctionDescriptor.of(INT, INT, POINTER, INT, INT, INT));

    private FileCalls() {}

    /** Opens a path relative to a directory, under the rules of openat2(2). */
    static Fd openat2(Fd directory, byte[] path, int flags, long resolve) throws ErrnoException {
        return new Fd((int) call("openat2", (arena, errno) -> {
            MemorySegment how = arena.allocate(OPEN_HOW_SIZE, Long.BYTES);
            how.set(ValueLayout.JAVA_LONG, 0, flags | O_CLOEXEC);
            how.set(ValueLayout.JAVA_LONG, 16, resolve);
            return (long) SYSCALL.invokeExact(
                    errno, SYS_OPENAT2, (long) directory.number(), string(arena, path), how, OPEN_HOW_SIZE);
        }));
    }

    /** Opens a path that the server itself chose. */
    static Fd open(byte[] path, int flags) throws ErrnoException {
        return openat(AT_FDCWD, path, flags, 0);
    }

    /** Opens one name in a directory; the caller passes flags that keep it from following a link. */
    static Fd openat(Fd directory, byte[] name, int flags, int mode) throws ErrnoException {
        return openat(directory.number(), name, flags, mode);
    }

    private static Fd openat(int directory, byte[] name, int flags, int mode) throws ErrnoException {
        return new Fd((int) call("openat", (arena, errno) ->
                (int) OPENAT.invokeExact(errno, directory, string(arena, name), flags | O_CLOEXEC, mode)));
    }

    /** Closes a number. Not repeated on EINTR: Linux has closed it by then (close(2)). */
    static void close(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            int _ = (int) CLOSE.invokeExact(Libc.Errno.in(arena).segment(), fd);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Writes all of it: the kernel may take a part at a time, as it does just before the disk is full. */
    static void pwrite(Fd fd, byte[] bytes, int offset, int length, long position) throws ErrnoException {
        int done = 0;
        while (done < length) {
            int from = done;
            done += (int) call("pwrite", (arena, errno) -> {
                MemorySegment copy = arena.allocate(length - from);
                MemorySegment.copy(bytes, offset + from, copy, ValueLayout.JAVA_BYTE, 0, length - from);
                return (long) PWRITE.invokeExact(errno, fd.number(), copy, (long) length - from, position + from);
            });
        }
    }

    /** The state of a name in a directory itself, or of the descriptor if the name is empty. */
    static Stat statx(Fd directory, byte[] name) throws ErrnoException {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment buffer = memory.allocate(Stat.SIZE, Long.BYTES);
            call("statx", (arena, errno) -> (int) STATX.invokeExact(
                    errno,
                    directory.number(),
                    string(arena, name),
                    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
                    Stat.MASK,
                    buffer));
            return Stat.from(buffer);
        }
    }

    /** Where a link points: of a name in a directory, or of a descriptor of the link itself if the name is empty. */
    static byte[] readlinkat(Fd directory, byte[] name) throws ErrnoException {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment buffer = memory.allocate(PATH_MAX);
            long length = call("readlinkat", (arena, errno) -> (long)
                    READLINKAT.invokeExact(errno, directory.number(), string(arena, name), buffer, (long) PATH_MAX));
            return buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /** Where a link of proc(5) points that the server itself chose. */
    static byte[] readlink(byte[] path) throws ErrnoException {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment buffer = memory.allocate(PATH_MAX);
            long length = call("readlinkat", (arena, errno) ->
                    (long) READLINKAT.invokeExact(errno, AT_FDCWD, string(arena, path), buffer, (long) PATH_MAX));
            return buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    static void mkdirat(Fd directory, byte[] name, int mode) throws ErrnoException {
        call("mkdirat", (arena, errno) ->
                (int) MKDIRAT.invokeExact(errno, directory.number(), string(arena, name), mode));
    }

    static void unlinkat(Fd directory, byte[] name) throws ErrnoException {
        call("unlinkat", (arena, errno) ->
                (int) UNLINKAT.invokeExact(errno, directory.number(), string(arena, name), 0));
    }

    static void rmdirat(Fd directory, byte[] name) throws ErrnoException {
        call("unlinkat", (arena, errno) ->
                (int) UNLINKAT.invokeExact(errno, directory.number(), string(arena, name), AT_REMOVEDIR));
    }

    static void renameat(Fd from, byte[] oldName, Fd to, byte[] newName) throws ErrnoException {
        call("renameat", (arena, errno) -> (int) RENAMEAT.invokeExact(
                errno, from.number(), string(arena, oldName), to.number(), string(arena, newName)));
    }

    /** Changes the mode of what a descriptor stands for, also one that was opened with O_PATH, which fchmod(2) refuses. */
    static void chmod(Fd fd, int mode) throws ErrnoException {
        call("chmod", (arena, errno) -> (int) CHMOD.invokeExact(errno, string(arena, fd.link()), mode));
    }

    static void chown(Fd fd, Owner owner) throws ErrnoException {
        call("fchownat", (arena, errno) -> (int) FCHOWNAT.invokeExact(
                errno, fd.number(), string(arena, new byte[0]), owner.uid(), owner.gid(), AT_EMPTY_PATH));
    }

    static void ftruncate(Fd fd, long size) throws ErrnoException {
        call("ftruncate", (_, errno) -> (int) FTRUNCATE.invokeExact(errno, fd.number(), size));
    }

    /** @param mode with the type, see mknod(2) */
    static void mknodat(Fd directory, byte[] name, int mode, long device) throws ErrnoException {
        call("mknodat", (arena, errno) -> (long) SYSCALL_MKNODAT.invokeExact(
                errno, SYS_MKNODAT, (long) directory.number(), string(arena, name), (long) mode, device));
    }

    static void symlinkat(byte[] target, Fd directory, byte[] name) throws ErrnoException {
        call("symlinkat", (arena, errno) ->
                (int) SYMLINKAT.invokeExact(errno, string(arena, target), directory.number(), string(arena, name)));
    }

    /** A second name for a file; for a link itself, not for what it points to. */
    static void linkat(Fd from, byte[] oldName, Fd to, byte[] newName) throws ErrnoException {
        call("linkat", (arena, errno) -> (int) LINKAT.invokeExact(
                errno, from.number(), string(arena, oldName), to.number(), string(arena, newName), 0));
    }

    /** Sets an extended attribute of what a descriptor stands for, also one of O_PATH, which fsetxattr(2) refuses. */
    static void setxattr(Fd fd, byte[] name, byte[] value) throws ErrnoException {
        call("setxattr", (arena, errno) -> (int) SETXATTR.invokeExact(
                errno, string(arena, fd.link()), string(arena, name), string(arena, value), (long) value.length, 0));
    }

    /** The names of the extended attributes of what a descriptor stands for, each with a NUL after it. */
    static byte[] listxattr(Fd fd) throws ErrnoException {
        return sized((arena, errno, buffer, size) ->
                (long) LISTXATTR.invokeExact(errno, string(arena, fd.link()), buffer, size));
    }

    static byte[] getxattr(Fd fd, byte[] name) throws ErrnoException {
        return sized((arena, errno, buffer, size) ->
                (long) GETXATTR.invokeExact(errno, string(arena, fd.link()), string(arena, name), buffer, size));
    }

    static void removexattr(Fd fd, byte[] name) throws ErrnoException {
        call("removexattr", (arena, errno) ->
                (int) REMOVEXATTR.invokeExact(errno, string(arena, fd.link()), string(arena, name)));
    }

    private interface Sized {
        long invoke(Arena arena, MemorySegment errno, MemorySegment buffer, long size) throws Throwable;
    }

    /** What is as long as the call says when it is given no room; it may have grown when it is given some. */
    private static byte[] sized(Sized asked) throws ErrnoException {
        while (true) {
            long size = call("xattr", (arena, errno) -> asked.invoke(arena, errno, MemorySegment.NULL, 0));
            if (size == 0) {
                return new byte[0];
            }
            try (Arena memory = Arena.ofConfined()) {
                MemorySegment buffer = memory.allocate(size);
                long length = call("xattr", (arena, errno) -> asked.invoke(arena, errno, buffer, size));
                return buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
            } catch (ErrnoException e) {
                if (e.errno() != ErrnoException.ERANGE) {
                    throw e;
                }
            }
        }
    }

    /** Sets when a file was written, and leaves alone when it was read. */
    static void utimens(Fd fd, long seconds, int nanos) throws ErrnoException {
        call("utimensat", (arena, errno) -> {
            MemorySegment times = arena.allocate(4 * Long.BYTES, Long.BYTES);
            times.set(ValueLayout.JAVA_LONG, 8, UTIME_OMIT);
            times.set(ValueLayout.JAVA_LONG, 16, seconds);
            times.set(ValueLayout.JAVA_LONG, 24, nanos);
            return (int) UTIMENSAT.invokeExact(errno, AT_FDCWD, string(arena, fd.link()), times, 0);
        });
    }

    static MemorySegment string(Arena arena, byte[] bytes) {
        MemorySegment string = arena.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, string, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return string;
    }

    /** Makes a call, again when a signal interrupted it, and throws what it sets errno to. */
    static long call(String name, Call call) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            Libc.Errno errno = Libc.Errno.in(arena);
            while (true) {
                long result = invoke(call, arena, errno);
                if (result >= 0) {
                    return result;
                }
                if (errno.value() != ErrnoException.EINTR) {
                    throw new ErrnoException(name, errno.value());
                }
            }
        }
    }

    private static long invoke(Call call, Arena arena, Libc.Errno errno) {
        try {
            return call.invoke(arena, errno.segment());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** One native call; negative if it failed. */
    interface Call {
        long invoke(Arena arena, MemorySegment errno) throws Throwable;
    }
}
