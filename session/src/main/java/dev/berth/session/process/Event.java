package dev.berth.session.process;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.SandboxException;

/** What a {@link Follower} is told of a process. */
public sealed interface Event {
    /** Where a process prints. */
    enum Stream {
        STDOUT,
        STDERR,
        /** All that the terminal shows; a process on one has no other. */
        TERMINAL
    }

    /** It printed this; the order holds within a stream only. */
    record Output(Stream stream, byte[] bytes) implements Event {}

    /** It ended, and this comes after all it printed. Asking again gives the same. */
    record Ended(Exit exit) implements Event {}

    /** Nothing happened for as long as was waited. */
    record Nothing() implements Event {}

    /**
     * There will be no more: {@code gone} if the sandbox was stopped or removed, and the process with it; {@code limit} if
     * this follower was cut off for not taking what was printed; anything else if the process goes on, but not for this
     * follower. Asking again gives the same.
     */
    record Lost(SandboxException why) implements Event {}
}
