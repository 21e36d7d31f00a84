package dev.berth.sandbox.local.linux;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** mount(2) and umount2(2), and what /proc says is mounted. */
public final class Mounts {
    public static final long NOSUID = 2;
    public static final long NODEV = 4;
    private static final long READ_ONLY = 1;
    private static final long REMOUNT = 32;
    private static final long BIND = 4096;
    private static final int DETACH = 2;

    private static final MethodHandle MOUNT =
            Libc.bind("mount", FunctionDescriptor.of(INT, POINTER, POINTER, POINTER, LONG, POINTER));
    private static final MethodHandle UMOUNT = Libc.bind("umount2", FunctionDescriptor.of(INT, POINTER, INT));

    private Mounts() {}

    public static void mount(String type, String source, Path target, long flags, String options)
            throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            Libc.Errno errno = Libc.Errno.in(arena);
            MemorySegment data = options.isEmpty() ? MemorySegment.NULL : arena.allocateFrom(options);
            int result = (int) MOUNT.invokeExact(
                    errno.segment(),
                    arena.allocateFrom(source),
                    arena.allocateFrom(target.toString()),
                    arena.allocateFrom(type),
                    flags,
                    data);
            if (result != 0) {
                throw new ErrnoException("mount " + type + " on " + target, errno.value());
            }
        } catch (ErrnoException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Shows a directory of the machine, without what is mounted below it, at another place, read-only. */
    public static void bindReadOnly(Path source, Path target) throws ErrnoException {
        mount("none", source.toString(), target, BIND, "");
        mount("none", "none", target, BIND | REMOUNT | READ_ONLY | NOSUID | NODEV, "");
    }

    /** Unmounts now, or as soon as the last user is gone. Returns false if nothing was mounted there. */
    public static boolean unmount(Path target) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            Libc.Errno errno = Libc.Errno.in(arena);
            int result = (int) UMOUNT.invokeExact(errno.segment(), arena.allocateFrom(target.toString()), DETACH);
            if (result == 0) {
                return true;
            }
            if (errno.value() == ErrnoException.EINVAL || errno.value() == ErrnoException.ENOENT) {
                return false;
            }
            throw new ErrnoException("unmount " + target, errno.value());
        } catch (ErrnoException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** One line of /proc/self/mountinfo, see proc(5). */
    public record Mounted(Path target, String type, String source) {}

    public static List<Mounted> all() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                .map(Mounts::parse)
                .toList();
    }

    private static Mounted parse(String line) {
        String[] fields = line.split(" ");
        int dash = 6;
        while (!fields[dash].equals("-")) {
            dash++;
        }
        return new Mounted(Path.of(unescape(fields[4])), fields[dash + 1], unescape(fields[dash + 2]));
    }

    /** Blanks and a few others are written in octal there. */
    private static String unescape(String field) {
        return field.replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }
}
