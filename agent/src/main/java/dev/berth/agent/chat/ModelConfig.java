package dev.berth.agent.chat;

import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A model that is spoken to in the way of OpenAI's chat completions.
 *
 * @param url what {@code /chat/completions} is added to, such as {@code https://api.openai.com/v1}
 * @param name of the model
 * @param key asked for before each request, so that it can be changed; empty for a model that needs none
 */
public record ModelConfig(URI url, String name, Supplier<Optional<String>> key, Patience patience) {
    /**
     * How long things may take.
     *
     * @param first until the first piece of an answer
     * @param silence between two pieces
     * @param whole for an answer
     * @param pause before it is tried again for the first time; doubled each time after
     */
    public record Patience(Duration first, Duration silence, Duration whole, Duration pause) {
        public static final Patience DEFAULT = new Patience(
                Duration.ofMinutes(2), Duration.ofMinutes(1), Duration.ofMinutes(10), Duration.ofSeconds(1));
    }

    public ModelConfig {
        boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
        if (!http || url.getHost() == null || url.getUserInfo() != null || url.getQuery() != null) {
            // It is not repeated here, as what is wrong with it may be that it has a password in it.
            throw SandboxException.invalid(
                    "the model's url has to be http or https, with a host, and without user or query, such as"
                            + " https://api.openai.com/v1");
        }
    }

    URI completions() {
        String base = url.toString();
        return URI.create((base.endsWith("/") ? base : base + "/") + "chat/completions");
    }
}
