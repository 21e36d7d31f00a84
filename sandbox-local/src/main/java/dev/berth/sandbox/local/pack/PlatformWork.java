package dev.berth.sandbox.local.pack;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;

/** Work that blocks in the kernel, done by a platform thread whichever kind of thread waits for it. */
final class PlatformWork {
    private PlatformWork() {}

    interface Work {
        void run() throws IOException;
    }

    /** Returns, or throws what it threw, when the work has ended; who is interrupted interrupts it. */
    static void run(String name, Work work) throws IOException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().daemon().name(name).start(() -> {
            try {
                work.run();
            } catch (IOException | RuntimeException | Error e) {
                failure.set(e);
            }
        });
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
                thread.interrupt();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        switch (failure.get()) {
            case null -> {}
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    static void checkInterrupt() {
        if (Thread.currentThread().isInterrupted()) {
            throw SandboxException.unavailable("interrupted while working on the files of a sandbox");
        }
    }
}
