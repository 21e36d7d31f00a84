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

    /** Shows a directory of the machine, without what is mounted below it, at another place. */
    public static void bind(Path source, Path target) throws ErrnoException {
        mount("none", source.toString(), target, BIND, "");
    }

    /** That nothing in what is mounted there is a device, or lends its owner's rights. */
    public static void tame(Path mounted) throws ErrnoException {
        mount("none", "none", mounted, BIND | REMOUNT | NOSUID | NODEV, "");
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

    /**
     * One line of /proc/self/mountinfo, see proc(5).
     *
     * @param root what of its filesystem is seen at the target
     * @param device the filesystem's; on btrfs no file has this number
     */
    public record Mounted(Path target, Path root, String device, String type, String source) {}

    public static List<Mounted> all() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                .map(Mounts::parse)
                .toList();
    }

    /** Where a directory of the machine, or something in it, is seen beside its own place. */
    public static List<Path> places(Path directory) throws IOException {
        List<Mounted> all = all();
        // Of several at one place the last hides the others.
        Mounted home = all.stream()
                .filter(mount -> directory.startsWith(mount.target()))
                .reduce((one, next) ->
                        next.target().getNameCount() < one.target().getNameCount() ? one : next)
                .orElseThrow(() -> new IOException("nothing is mounted above " + directory));
        Path inside = home.root().resolve(home.target().relativize(directory));
        return all.stream()
                .filter(mount ->
                        mount.device().equals(home.device()) && mount.root().startsWith(inside))
                .map(Mounted::target)
                .toList();
    }

    private static Mounted parse(String line) {
        String[] fields = line.split(" ");
        int dash = 6;
        while (!fields[dash].equals("-")) {
            dash++;
        }
        return new Mounted(
                Path.of(unescape(fields[4])),
                Path.of(unescape(fields[3])),
                fields[2],
                fields[dash + 1],
                unescape(fields[dash + 2]));
    }

    /** Blanks and a few others are written in octal there. */
    private static String unescape(String field) {
        return field.replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }
}
