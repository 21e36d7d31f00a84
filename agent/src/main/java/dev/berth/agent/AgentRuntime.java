package dev.berth.agent;

import java.util.Optional;

/** One kind of agent: how it is set up, started and spoken to. */
public interface AgentRuntime {
    String name();

    /** How much memory a sandbox has to have for it; 0 if the usual is enough. */
    default long memoryBytes() {
        return 0;
    }

    /**
     * Starts the agent of a session and waits until it answers.
     *
     * @throws dev.berth.sandbox.SandboxException {@code unsupported} if the template lacks its program, {@code conflict} if
     *     one runs already, {@code timeout} if it does not come up
     */
    Agent start(Station station, AgentListener listener);

    /**
     * Takes up the agent that runs in the sandbox already, left by this server or one before it.
     *
     * @param position where whoever listened before had come to
     * @param busy whether they had heard of a run that has begun and not ended
     * @return empty if none runs
     * @throws dev.berth.sandbox.SandboxException {@code timeout} if it does not answer; then it was ended
     */
    Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener);
}
