package dev.berth.egress.internet;

import java.io.IOException;
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
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** A network namespace that {@code ip netns} made. Sockets belong to the namespace of the thread that makes them, setns(2). */
final class NetNamespace implements AutoCloseable {
    private static final Path ALL = Path.of("/run/netns");
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

    /** Runs ip(8) outside. */
    static void ip(String... arguments) {
        if (!tryIp(arguments)) {
            throw new IllegalStateException(
                    "could not do ip " + String.join(" ", arguments) + "; the test needs root and Debian's iproute2");
        }
    }

    static boolean tryIp(String... arguments) {
        try {
            Process process = new ProcessBuilder(java.util.stream.Stream.concat(
                                    java.util.stream.Stream.of("ip"), List.of(arguments).stream())
                            .toList())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            boolean done = process.waitFor() == 0;
            if (!done) {
                System.getLogger(NetNamespace.class.getName())
                        .log(System.Logger.Level.DEBUG, "ip {0}: {1}", String.join(" ", arguments), said);
            }
            return done;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs ip(8) inside. */
    void ipInside(String... arguments) {
        ip(java.util.stream.Stream.concat(java.util.stream.Stream.of("-n", name), List.of(arguments).stream())
                .toArray(String[]::new));
    }

    /** Does something on a thread in the namespace: the sockets that it makes are there, whoever uses them later. */
    <T> T inside(Callable<T> action) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofPlatform().name("in-" + name).start(() -> {
            try {
                enter();
                result.complete(action.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        try {
            return result.join();
        } catch (CompletionException e) {
            throw new IllegalStateException("could not be done in the namespace " + name, e.getCause());
        }
    }

    private void enter() throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            int descriptor =
                    (int) OPEN.invokeExact(arena.allocateFrom(ALL.resolve(name).toString()), 0);
            int entered = (int) SETNS.invokeExact(descriptor, CLONE_NEWNET);
            int closed = (int) CLOSE.invokeExact(descriptor);
            if (descriptor < 0 || entered != 0 || closed != 0) {
                throw new IllegalStateException("could not enter the network namespace " + name);
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
