package dev.berth.sandbox.local.linux;

import static dev.berth.sandbox.local.linux.Libc.INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** kill(2), which Java offers only for its own children. */
public final class Processes {
    private static final int SIGKILL = 9;
    private static final MethodHandle KILL = Libc.bind("kill", FunctionDescriptor.of(INT, INT, INT));

    private Processes() {}

    /** Kills a process; nothing happens if it is gone. */
    public static void kill(int pid) {
        try (Arena arena = Arena.ofConfined()) {
            int ignored = (int) KILL.invokeExact(Libc.Errno.in(arena).segment(), pid, SIGKILL);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
