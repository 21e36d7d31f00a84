package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Uninterrupted;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Holds a step back until it has its network. A container has to run before it can be connected, so the first thing it does
 * is to read from a pipe, which nobody has written to until then (fifo(7)).
 */
final class StepGate implements AutoCloseable {
    private final StepYard yard;
    private final SeekableByteChannel pipe;
    private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
    private @Nullable Thread opener;

    private StepGate(StepYard yard, SeekableByteChannel pipe) {
        this.yard = yard;
        this.pipe = pipe;
    }

    /** @param scratch what the step's own directories lie in */
    static StepGate make(Path scratch, StepYard yard) throws IOException {
        Path gate = scratch.resolve("gate");
        FileTree.delete(gate);
        FileTree.privateDirectory(gate);
        Path go = gate.resolve("go");
        ExternalCommand.of(List.of("mkfifo", "-m", "600", go.toString()))
                .run(line -> {})
                .orThrow();
        FileTree.setOwners(gate, 0, 0);
        new RootTree(scratch).file("/resolv.conf", yard.resolvConf());
        // For both at once, or this would wait for the step to read, which may never begin.
        return new StepGate(yard, Files.newByteChannel(go, StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    Map<String, String> mounts() {
        return Map.of("/run/berth-build/gate", "gate", "/etc/resolv.conf", "resolv.conf");
    }

    /** Connects the step that has just been started, and lets it go on; ends it if that cannot be done. */
    void open(Process step) {
        opener = Thread.ofPlatform().daemon().name("network of a build step").start(() -> {
            try {
                yard.connect();
                int _ = pipe.write(ByteBuffer.wrap("go\n".getBytes(StandardCharsets.US_ASCII)));
            } catch (IOException | SandboxException e) {
                // One that has ended has its own reason to tell, and cannot be connected because of it.
                if (step.isAlive()) {
                    failure.set(e);
                    step.destroyForcibly();
                }
            }
        });
    }

    /** @throws SandboxException if the step could not be connected */
    @Override
    public void close() throws IOException {
        Uninterrupted.run(this::end);
        Exception why = failure.get();
        if (why != null) {
            throw SandboxException.unavailable("could not give a build step its network: " + why.getMessage(), why);
        }
    }

    private void end() throws IOException {
        Thread thread = opener;
        if (thread != null) {
            thread.interrupt();
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        pipe.close();
    }
}
