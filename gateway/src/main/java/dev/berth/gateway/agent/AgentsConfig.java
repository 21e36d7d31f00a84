package dev.berth.gateway.agent;

import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.run.RunsConfig;
import dev.berth.sandbox.Network.Rule;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The agent that sessions have, unless their tenant or they themselves choose another one.
 *
 * @param model the one that agents ask; without one there are no agents
 * @param template what sessions start from that are made for an agent
 * @param allow what such sessions may reach besides the model
 * @param chat the model that answers by itself and calls an agent when work needs doing
 */
public record AgentsConfig(
        String runtime,
        Optional<ModelChoice> model,
        String instructions,
        String template,
        List<Rule> allow,
        Patience patience,
        RunsConfig runs,
        Optional<Chat> chat) {

    public static final AgentsConfig DEFAULT = new AgentsConfig(
            "pi",
            Optional.empty(),
            usualInstructions(),
            "agent",
            List.of(),
            Patience.DEFAULT,
            RunsConfig.DEFAULT,
            Optional.empty());

    public AgentsConfig {
        allow = List.copyOf(allow);
    }

    /**
     * A model that is asked by this server itself, and not from within a sandbox.
     *
     * @param url of an API in the way of OpenAI's
     */
    public record Chat(URI url, String model, Optional<String> key) {
        /** Without the key. */
        @Override
        public String toString() {
            return "Chat[" + url + ", " + model + "]";
        }
    }

    public AgentsConfig withModel(ModelChoice chosen) {
        return new AgentsConfig(runtime, Optional.of(chosen), instructions, template, allow, patience, runs, chat);
    }

    public AgentsConfig withTemplate(String name) {
        return new AgentsConfig(runtime, model, instructions, name, allow, patience, runs, chat);
    }

    public AgentsConfig withAllowed(List<Rule> rules) {
        return new AgentsConfig(runtime, model, instructions, template, rules, patience, runs, chat);
    }

    /** What agents are told that nobody wrote instructions for. */
    public static String usualInstructions() {
        try (InputStream in = Objects.requireNonNull(AgentsConfig.class.getResourceAsStream("instructions.md"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
