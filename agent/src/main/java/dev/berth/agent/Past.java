package dev.berth.agent;

import java.util.List;
import java.util.Optional;

/** What came before in a conversation. Each part is read only by an agent that needs it, as it may be long. */
public interface Past {
    /** Of a conversation that begins. */
    Past NONE = new Past() {
        @Override
        public Optional<String> conversation() {
            return Optional.empty();
        }

        @Override
        public Optional<byte[]> transcript() {
            return Optional.empty();
        }

        @Override
        public List<Said> said() {
            return List.of();
        }
    };

    /** What {@link Agent#conversation} said the last time. */
    Optional<String> conversation();

    /** The conversation as the runtime {@linkplain Agent#transcript wrote it}, for a sandbox that has lost it. */
    Optional<byte[]> transcript();

    /** The same in words, for a runtime that cannot be given what it wrote. */
    List<Said> said();

    /** One message, or the agent's answer to it. */
    record Said(boolean byAgent, String text) {}
}
