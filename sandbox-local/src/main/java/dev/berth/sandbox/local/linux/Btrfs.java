package dev.berth.sandbox.local.linux;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The ioctls of btrfs that make, copy, limit and remove subvolumes. Layouts are those of linux/btrfs.h, the same on all
 * 64-bit machines.
 */
public final class Btrfs {
    private static final int NAME_OFFSET = 56;
    private static final int VOL_ARGS_V2_SIZE = 4096;
    private static final long SUBVOL_RDONLY = 2;

    private static final long SUBVOL_CREATE_V2 = ioctl(1, 24, VOL_ARGS_V2_SIZE);
    private static final long SNAP_CREATE_V2 = ioctl(1, 23, VOL_ARGS_V2_SIZE);
    private static final long SNAP_DESTROY = ioctl(1, 15, VOL_ARGS_V2_SIZE);
    private static final long INO_LOOKUP = ioctl(3, 18, VOL_ARGS_V2_SIZE);
    private static final int FS_INFO_SIZE = 1024;
    private static final long FS_INFO = ioctl(2, 31, FS_INFO_SIZE);
    private static final ValueLayout.OfLong BIG_ENDIAN_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long QUOTA_CTL = ioctl(3, 40, 16);
    private static final long QGROUP_LIMIT = ioctl(2, 43, 48);
    private static final int QUOTA_ENABLE = 1;
    /** Accounts each extent to the subvolume that wrote it: costs nothing at a snapshot. Linux 6.7 and later. */
    private static final int QUOTA_ENABLE_SIMPLE = 4;

    private static final long QGROUP_LIMIT_MAX_REFERENCED = 1;
    private static final int O_RDONLY_DIRECTORY_CLOEXEC = 0x10000 | 0x80000;
    private static final long FIRST_FREE_OBJECTID = 256;

    private static final MethodHandle OPEN = Libc.bindVariadic("open", FunctionDescriptor.of(INT, POINTER, INT), 2);
    private static final MethodHandle CLOSE = Libc.bind("close", FunctionDescriptor.of(INT, INT));
    private static final MethodHandle IOCTL =
            Libc.bindVariadic("ioctl", FunctionDescriptor.of(INT, INT, LONG, POINTER), 2);

    private Btrfs() {}

    public static void createSubvolume(Path path) throws ErrnoException {
        onParent(path, "create subvolume", SUBVOL_CREATE_V2, args -> name(args, path));
    }

    public static void snapshot(Path source, Path target, boolean readOnly) throws ErrnoException {
        int sourceFd = open(source);
        try {
            onParent(target, "snapshot", SNAP_CREATE_V2, args -> {
                args.set(LONG, 0, sourceFd);
                args.set(LONG, 16, readOnly ? SUBVOL_RDONLY : 0);
                name(args, target);
            });
        } finally {
            close(sourceFd);
        }
    }

    /** Removes a subvolume; its extents are freed in the background. */
    public static void deleteSubvolume(Path path) throws ErrnoException {
        onParent(path, "delete subvolume", SNAP_DESTROY, args -> {
            byte[] name = path.getFileName().toString().getBytes(StandardCharsets.UTF_8);
            MemorySegment.copy(name, 0, args, ValueLayout.JAVA_BYTE, 8, name.length);
        });
    }

    /** Turns on accounting for a filesystem. Returns whether it is the simple kind. */
    public static boolean enableQuota(Path filesystem) throws ErrnoException {
        int fd = open(filesystem);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = arena.allocate(16, 8);
            args.set(LONG, 0, QUOTA_ENABLE_SIMPLE);
            int failure = ioctl(arena, fd, QUOTA_CTL, args);
            if (failure == 0) {
                return true;
            }
            args.set(LONG, 0, QUOTA_ENABLE);
            failure = ioctl(arena, fd, QUOTA_CTL, args);
            if (failure != 0) {
                throw new ErrnoException("turn on btrfs quotas on " + filesystem, failure);
            }
            return false;
        } finally {
            close(fd);
        }
    }

    /** The UUID by which /sys/fs/btrfs knows the filesystem. */
    public static String filesystemId(Path filesystem) throws ErrnoException {
        int fd = open(filesystem);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = arena.allocate(FS_INFO_SIZE, 8);
            int failure = ioctl(arena, fd, FS_INFO, args);
            if (failure != 0) {
                throw new ErrnoException("identify the btrfs at " + filesystem, failure);
            }
            long high = args.get(BIG_ENDIAN_LONG, 16);
            long low = args.get(BIG_ENDIAN_LONG, 24);
            return new UUID(high, low).toString();
        } finally {
            close(fd);
        }
    }

    /** The number of a subvolume, which is also the number of its quota group. */
    public static long subvolumeId(Path subvolume) throws ErrnoException {
        int fd = open(subvolume);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = arena.allocate(VOL_ARGS_V2_SIZE, 8);
            args.set(LONG, 8, FIRST_FREE_OBJECTID);
            int failure = ioctl(arena, fd, INO_LOOKUP, args);
            if (failure != 0) {
                throw new ErrnoException("look up subvolume " + subvolume, failure);
            }
            return args.get(LONG, 0);
        } finally {
            close(fd);
        }
    }

    /** Limits what a subvolume may hold; 0 lifts the limit. */
    public static void limit(Path subvolume, long bytes) throws ErrnoException {
        int fd = open(subvolume);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = arena.allocate(48, 8);
            args.set(LONG, 8, QGROUP_LIMIT_MAX_REFERENCED);
            args.set(LONG, 16, bytes == 0 ? -1 : bytes);
            int failure = ioctl(arena, fd, QGROUP_LIMIT, args);
            if (failure != 0) {
                throw new ErrnoException("limit subvolume " + subvolume, failure);
            }
        } finally {
            close(fd);
        }
    }

    private interface Fill {
        void into(MemorySegment args);
    }

    private static void onParent(Path path, String what, long request, Fill fill) throws ErrnoException {
        int fd = open(path.resolveSibling("."));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = arena.allocate(VOL_ARGS_V2_SIZE, 8);
            fill.into(args);
            int failure = ioctl(arena, fd, request, args);
            if (failure != 0) {
                throw new ErrnoException(what + " " + path, failure);
            }
        } finally {
            close(fd);
        }
    }

    private static void name(MemorySegment args, Path path) {
        args.setString(NAME_OFFSET, path.getFileName().toString());
    }

    private static int open(Path path) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            Libc.Errno errno = Libc.Errno.in(arena);
            int fd = (int)
                    OPEN.invokeExact(errno.segment(), arena.allocateFrom(path.toString()), O_RDONLY_DIRECTORY_CLOEXEC);
            if (fd < 0) {
                throw new ErrnoException("open " + path, errno.value());
            }
            return fd;
        } catch (ErrnoException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static void close(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            int ignored = (int) CLOSE.invokeExact(Libc.Errno.in(arena).segment(), fd);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static int ioctl(Arena arena, int fd, long request, MemorySegment args) {
        try {
            Libc.Errno errno = Libc.Errno.in(arena);
            int result = (int) IOCTL.invokeExact(errno.segment(), fd, request, args);
            return result < 0 ? errno.value() : 0;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** _IOC(direction, BTRFS_IOCTL_MAGIC, number, size) of asm-generic/ioctl.h. */
    private static long ioctl(int direction, int number, int size) {
        return (long) direction << 30 | (long) size << 16 | 0x94 << 8 | number;
    }
}
