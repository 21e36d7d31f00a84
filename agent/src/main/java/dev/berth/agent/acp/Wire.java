package dev.berth.agent.acp;

import dev.berth.agent.line.LineChannel.Receiver;
import tools.jackson.databind.node.ObjectNode;

/** How messages get to an agent and come from it. Each one that comes has a position. */
public interface Wire extends AutoCloseable {
    /** Begins to read for somebody. */
    interface Opener {
        Wire open(Receiver receiver);
    }

    /** @throws dev.berth.sandbox.SandboxException if it did not get there */
    void send(ObjectNode message);

    /** What the agent printed last that was no message, to be added to a sentence. */
    String complaint();

    /** Ends the agent. */
    void end();

    /** Lets go of it. Nothing of it is taken any more when this returns. */
    @Override
    void close();
}
