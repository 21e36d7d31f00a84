package dev.berth.agent.acp;

import dev.berth.agent.AgentConfig;
import dev.berth.sandbox.Sandbox;
import java.util.Map;
import java.util.Optional;

/** How one program that speaks the protocol is told who it is. */
public interface AcpSetup {
    /** For one that somebody else has set up. */
    AcpSetup NONE = new AcpSetup() {
        @Override
        public void write(Sandbox sandbox, AgentConfig config) {
            // its template or its people have seen to that
        }

        @Override
        public Map<String, String> variables() {
            return Map.of();
        }

        @Override
        public Optional<String> model(AgentConfig config) {
            return Optional.empty();
        }
    };

    /** Writes its files, before it starts. */
    void write(Sandbox sandbox, AgentConfig config);

    Map<String, String> variables();

    /** The model's name in its own words, if it has to know it. */
    Optional<String> model(AgentConfig config);

    /** How much memory a sandbox has to have for it; 0 if the usual is enough. */
    default long memoryBytes() {
        return 0;
    }
}
