package dev.berth.sandbox.local.linux;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * A command line that is run by posix_spawn(3): what starting a process costs with nothing around it. Java's own
 * ProcessBuilder takes a millisecond more, for a helper process of its own.
 *
 * <p>Waiting blocks the thread in the kernel, so {@link #run()} and {@link #waitFor} are for platform threads. What this
 * process has open without the close-on-exec flag, the other one gets, where ProcessBuilder would close it: berth-launch
 * closes all of that first.
 */
public final class Spawn {
    private static final MethodHandle POSIX_SPAWNP =
            Libc.bind("posix_spawnp", FunctionDescriptor.of(INT, POINTER, POINTER, POINTER, POINTER, POINTER, POINTER));
    private static final MethodHandle WAITPID = Libc.bind("waitpid", FunctionDescriptor.of(INT, INT, POINTER, INT));

    private final List<String> words;
    private final Arena arena = Arena.ofAuto();
    private final MemorySegment program;
    private final MemorySegment argv;

    private Spawn(List<String> words) {
        this.words = words;
        this.program = arena.allocateFrom(words.getFirst());
        this.argv = arena.allocate(POINTER, words.size() + 1L);
        for (int i = 0; i < words.size(); i++) {
            argv.setAtIndex(POINTER, i, arena.allocateFrom(words.get(i)));
        }
        argv.setAtIndex(POINTER, words.size(), MemorySegment.NULL);
    }

    public static Spawn of(List<String> words) {
        return new Spawn(List.copyOf(words));
    }

    public static Spawn of(String... words) {
        return of(List.of(words));
    }

    /** Runs it to its end; anything but success is an error. */
    public void run() {
        int status = waitFor(start());
        if (status != 0) {
            throw new IllegalStateException(String.join(" ", words) + " failed, with wait status " + status);
        }
    }

    /** Starts it and returns its process id; it has to be waited for. */
    public int start() {
        try (Arena call = Arena.ofConfined()) {
            MemorySegment pid = call.allocate(INT);
            int error = (int) POSIX_SPAWNP.invokeExact(
                    Libc.Errno.in(call).segment(),
                    pid,
                    program,
                    MemorySegment.NULL,
                    MemorySegment.NULL,
                    argv,
                    environment());
            if (error != 0) {
                throw new IllegalStateException("could not execute " + words.getFirst() + ": error " + error);
            }
            return pid.get(INT, 0);
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Waits for the end of a process that was started here; 0 is success, for the rest see wait(2). */
    public static int waitFor(int pid) {
        try (Arena call = Arena.ofConfined()) {
            MemorySegment status = call.allocate(INT);
            int waited = (int) WAITPID.invokeExact(Libc.Errno.in(call).segment(), pid, status, 0);
            if (waited != pid) {
                throw new IllegalStateException("could not wait for process " + pid);
            }
            return status.get(INT, 0);
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static MemorySegment environment() {
        return Linker.nativeLinker()
                .defaultLookup()
                .findOrThrow("environ")
                .reinterpret(POINTER.byteSize())
                .get(POINTER, 0);
    }
}
