package dev.berth.agent;

import dev.berth.sandbox.SandboxException;

/**
 * A coding agent in a sandbox, running, with the one conversation of its session. It belongs to the sandbox: closing this
 * lets go of it, and it works on.
 *
 * <p>Methods may be called by any thread. They fail with {@code unavailable} if the agent is gone, and with {@code timeout}
 * if it does not answer.
 */
public interface Agent extends AutoCloseable {
    /** By which its runtime finds the conversation again when it is started anew. */
    String conversation();

    boolean busy();

    /** Whether it can still be spoken to. */
    boolean alive();

    /**
     * Gives it a message. If it is busy, it takes the message up as soon as it can, in the run that goes on; otherwise a
     * run begins.
     *
     * @throws SandboxException if it did not take it
     */
    void say(String message);

    /** Ends the run that goes on, if any, and forgets messages that it has not taken up. */
    void abort();

    /** Answers what it {@linkplain AgentEvent.Asked asked}. Nothing happens if it does not wait for that any more. */
    void decide(String question, boolean allowed);

    /**
     * What it has written down of its conversation, from a byte on: whole records, a few megabytes at most, so that this is
     * called again until nothing comes. Empty if it writes nothing that it could be given back.
     */
    byte[] transcript(long from);

    /** Ends its process, and everything that it started in its process group. */
    void end();

    @Override
    void close();
}
