package dev.berth.agent;

import dev.berth.sandbox.SandboxException;

/**
 * Hears what an agent does, one event after the other, on a thread of the agent's. It may block: then the agent waits. Of
 * the agent it may only {@linkplain Agent#decide decide} there, as all else waits for something on the same thread.
 */
public interface AgentListener {
    /**
     * @param position up to which everything has been told; whoever {@linkplain AgentRuntime#attach attaches} from there
     *     hears the rest, and nothing twice
     */
    void heard(AgentEvent event, long position);

    /** It is gone, and with it the run that went on. Nothing more is told, and it may be closed. */
    void lost(SandboxException why);
}
