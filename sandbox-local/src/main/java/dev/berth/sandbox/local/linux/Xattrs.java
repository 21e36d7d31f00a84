package dev.berth.sandbox.local.linux;

import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/** lgetxattr(2), since Java reads extended attributes of the user namespace only. */
public final class Xattrs {
    private static final int MAX_VALUE = 4096;
    private static final MethodHandle GET =
            Libc.bind("lgetxattr", FunctionDescriptor.of(LONG, POINTER, POINTER, POINTER, LONG));

    private Xattrs() {}

    public static Optional<String> get(Path path, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(MAX_VALUE);
            long size = (long) GET.invokeExact(
                    Libc.Errno.in(arena).segment(),
                    arena.allocateFrom(path.toString()),
                    arena.allocateFrom(name),
                    value,
                    (long) MAX_VALUE);
            return size < 0
                    ? Optional.empty()
                    : Optional.of(
                            new String(value.asSlice(0, size).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
