package dev.berth.sandbox.local.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Finds C functions and calls them with errno.
 *
 * <p>A bound function is called with an {@link Errno} as its first argument; that holds errno after the call. Calls here
 * are short. One that can block for long (a read from a pipe, inotify) belongs on a platform thread, since a virtual one
 * would hold its carrier.
 */
public final class Libc {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout ERRNO_LAYOUT = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = ERRNO_LAYOUT.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private Libc() {}

    /** Binds a C function; the handle's first argument is {@link Errno#segment()}. */
    public static MethodHandle bind(String name, FunctionDescriptor shape) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name), shape, Linker.Option.captureCallState("errno"));
    }

    /** Binds a variadic C function such as open(2), ioctl(2) or syscall(2), whose variable arguments begin at an index. */
    public static MethodHandle bindVariadic(String name, FunctionDescriptor shape, int firstVariadic) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name),
                shape,
                Linker.Option.captureCallState("errno"),
                Linker.Option.firstVariadicArg(firstVariadic));
    }

    /** The errno of one call. */
    public record Errno(MemorySegment segment) {
        public static Errno in(Arena arena) {
            return new Errno(arena.allocate(ERRNO_LAYOUT));
        }

        public int value() {
            return (int) ERRNO.get(segment, 0L);
        }
    }

    /** Turns what a method handle throws, which is nothing in practice, into an unchecked one. */
    public static AssertionError unexpected(Throwable t) {
        return new AssertionError("a native call threw", t);
    }

    public static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    public static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    public static final java.lang.foreign.AddressLayout POINTER = ValueLayout.ADDRESS;
}
