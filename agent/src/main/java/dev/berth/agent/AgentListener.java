package dev.berth.agent;

import dev.berth.sandbox.SandboxException;

/**
 * Hears what an agent does, one event after the other, on a thread of the agent's. It may block: then the agent waits. Of
 * the agent it may only {@linkplain Agent#decide decide} and {@linkplain Agent#close close} there, as all else waits for
 * an answer that comes on the same thread.
 */
public interface AgentListener {
    /**
     * @param position up to which everything has been told; whoever {@linkplain AgentRuntime#attach attaches} from there
     *     hears the rest, and nothing twice
     */
    void heard(AgentEvent event, long position);

    /** It is gone. Nothing more is told. */
    void lost(SandboxException why);
}
