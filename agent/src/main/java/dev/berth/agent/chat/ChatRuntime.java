package dev.berth.agent.chat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import java.util.Optional;

/**
 * A model that talks by itself, and gives work to a coding agent in the session's sandbox.
 *
 * <p>The model is asked by this server, so its key never comes near the sandbox. What it says is lost with the server; the
 * conversation and the coding agent are not. So a run that was going on is taken up where its transcript ends: the task
 * that the coding agent works on is waited for, and the model is asked again what it did not answer.
 */
public final class ChatRuntime implements AgentRuntime {
    private final AgentRuntime inner;
    private final ModelClient model;
    private final ChatConfig config;

    /** @param inner the kind of coding agent that does the work */
    public ChatRuntime(AgentRuntime inner, ModelClient model, ChatConfig config) {
        this.inner = inner;
        this.model = model;
        this.config = config;
    }

    @Override
    public String name() {
        return "chat";
    }

    /** The coding agent is started when it is needed. */
    @Override
    public Agent start(Station station, AgentListener listener) {
        ChatAgent agent = agent(station, listener);
        agent.repair();
        return agent;
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        if (!busy) {
            return Optional.empty(); // it was in the memory of a server; starting it costs nothing
        }
        ChatAgent agent = agent(station, listener);
        if (!agent.interrupted()) {
            // The run went on, but nothing of it was kept. Whatever the coding agent does now, nobody has asked for it.
            agent.abandon();
            return Optional.empty();
        }
        agent.resume(position);
        return Optional.of(agent);
    }

    private ChatAgent agent(Station station, AgentListener listener) {
        return new ChatAgent(config, model, inner, station, new History(station.past(), config.history()), listener);
    }
}
