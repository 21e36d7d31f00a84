package dev.berth.sandbox;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;

/**
 * A command that was started. Its output is read with back-pressure: what is not read is kept in the sandbox up to the
 * output limit.
 *
 * <p>The process belongs to the sandbox. {@link #close()} lets go of it: one that has ended is forgotten, one that still
 * runs goes on and can be {@linkplain Sandbox#attach attached} again.
 */
public interface RunningCommand extends AutoCloseable {
    int id();

    int pid();

    /**
     * Standard output, or all a terminal shows; ends when the command has ended and all it wrote was read.
     *
     * <p>Where it supports marks, what is read after one is not forgotten by the sandbox before the next: whoever attaches
     * again from there finds it. That is for readers who must lose nothing, even when they are killed; they have to mark
     * again within 64 KB.
     */
    InputStream stdout();

    InputStream stderr();

    /** How many bytes of output were dropped because nobody read them in time. */
    long dropped();

    /** Standard input; writing waits while the command does not read, closing it is the end of file. */
    OutputStream stdin();

    /** Signals the command's whole process group. Nothing happens if it has ended. */
    void signal(Signal signal);

    void resize(TerminalSize size);

    /** Waits for the end; output has to be read meanwhile, or be small enough to be kept. */
    Exit await();

    /** As {@link #await()}, but no longer than this. */
    Optional<Exit> await(Duration patience);

    @Override
    void close();
}
