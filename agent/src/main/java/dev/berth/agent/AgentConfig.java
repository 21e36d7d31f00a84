package dev.berth.agent;

import java.time.Duration;
import java.util.Optional;

/**
 * How an agent is set up.
 *
 * @param instructions what it is told before the conversation, in place of what it has by itself
 */
public record AgentConfig(String instructions, Model model, Patience patience) {
    /**
     * The model that it asks.
     *
     * @param provider the name of whoever serves it, such as {@code anthropic}
     * @param url where it is served, for providers that the agent does not know
     * @param protocol how it is spoken to there, such as {@code openai-completions}
     * @param keyVariable the variable that holds the placeholder of its key; a real key never gets here
     */
    public record Model(
            String provider, String name, Optional<String> url, String protocol, Optional<String> keyVariable) {}

    /**
     * How long things may take.
     *
     * @param start until it answers for the first time
     * @param command until it answers what it is asked
     * @param run from a message to the end of what it does about it
     * @param silence without any sign of life in a run
     */
    public record Patience(Duration start, Duration command, Duration run, Duration silence) {
        public static final Patience DEFAULT = new Patience(
                Duration.ofMinutes(2), Duration.ofMinutes(1), Duration.ofMinutes(20), Duration.ofMinutes(10));
    }
}
