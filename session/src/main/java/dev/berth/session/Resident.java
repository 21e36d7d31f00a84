package dev.berth.session;

import dev.berth.sandbox.Sandbox;
import java.util.Optional;

/**
 * A program that has to run in a sandbox before its session is of use, such as a coding agent. It has conversations of its
 * own, each with an id.
 */
public interface Resident {
    /** Whether it answers now. This takes a few seconds at most. */
    boolean healthy(Sandbox sandbox);

    /** Starts it, or starts it again; it may take a while until it is healthy. */
    void start(Sandbox sandbox, SessionInfo session);

    /** Makes sure that it has its conversation, and returns the id: the one given, or another if that is gone. */
    String converse(Sandbox sandbox, Optional<String> conversation);
}
