package dev.berth.egress.internet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;

/** A network namespace that {@code ip netns} made. Sockets belong to the namespace of the thread that makes them, setns(2). */
final class NetNamespace implements AutoCloseable {
    private static final Path ALL = Path.of("/run/netns");
    /** Of the thread that began this program, which stays where it is. */
    private static final Path OUTSIDE = Path.of("/proc/self/ns/net");

    private static final int CLONE_NEWNET = 0x40000000;
    private static final MethodHandle OPEN =
            libc("open", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    private static final MethodHandle SETNS =
            libc("setns", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle CLOSE =
            libc("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private final String name;

    NetNamespace(String name) {
        this.name = name;
        ip("netns", "add", name);
    }

    static List<String> names() {
        if (!Files.isDirectory(ALL)) {
            return List.of();
        }
        try (var files = Files.list(ALL)) {
            return files.map(file -> String.valueOf(file.getFileName())).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String name() {
        return name;
    }

    /** Runs ip(8) outside. */
    static void ip(String... arguments) {
        run(List.of(arguments), "");
    }

    /** Whether ip(8) could do something outside that may well not work. */
    static boolean tryIp(String... arguments) {
        return attempt(List.of(arguments), "").isEmpty();
    }

    /** Runs many commands of ip(8) outside, in the time of one. */
    static void batch(String... commands) {
        run(List.of("-batch", "-"), String.join("\n", commands) + "\n");
    }

    /** Runs many commands of ip(8) inside. */
    void batchInside(String... commands) {
        run(List.of("-n", name, "-batch", "-"), String.join("\n", commands) + "\n");
    }

    private static void run(List<String> arguments, String input) {
        attempt(arguments, input).ifPresent(problem -> {
            throw new IllegalStateException("could not do ip " + String.join(" ", arguments) + " (" + problem
                    + "); the test needs root and Debian's iproute2");
        });
    }

    /** What went wrong, if anything. */
    private static Optional<String> attempt(List<String> arguments, String input) {
        try {
            List<String> command =
                    Stream.concat(Stream.of("ip"), arguments.stream()).toList();
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            try (OutputStream stdin = process.getOutputStream()) {
                stdin.write(input.getBytes(StandardCharsets.UTF_8));
            }
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return process.waitFor() == 0 ? Optional.empty() : Optional.of(said.strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Does something on a thread in the namespace: the sockets that it makes are there, whoever uses them later. Threads
     * that it starts, be it to run virtual ones, would be there too, so it must not.
     */
    <T> T inside(Callable<T> action) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofPlatform().name("in-" + name).start(() -> {
            T done;
            try {
                // Back outside before anybody is told: waking a virtual thread may start another to run it.
                try {
                    enter(ALL.resolve(name));
                    done = action.call();
                } finally {
                    enter(OUTSIDE);
                }
            } catch (Throwable e) {
                result.completeExceptionally(e);
                return;
            }
            result.complete(done);
        });
        try {
            return result.join();
        } catch (CompletionException e) {
            throw new IllegalStateException("could not be done in the namespace " + name, e.getCause());
        }
    }

    private static void enter(Path namespace) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) OPEN.invokeExact(arena.allocateFrom(namespace.toString()), 0);
            int entered = (int) SETNS.invokeExact(descriptor, CLONE_NEWNET);
            int closed = (int) CLOSE.invokeExact(descriptor);
            if (descriptor < 0 || entered != 0 || closed != 0) {
                throw new IllegalStateException("could not enter the network namespace " + namespace);
            }
        }
    }

    private static MethodHandle libc(String function, FunctionDescriptor shape) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), shape);
    }

    @Override
    public void close() {
        ip("netns", "del", name);
    }
}
