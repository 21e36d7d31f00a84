package dev.berth.agent.run;

import dev.berth.sandbox.SandboxException;
import java.util.List;
import java.util.Optional;

/**
 * Something that is said to an agent.
 *
 * @param files given along with it, by their paths in the workspace
 * @param actor whoever asks, for the log
 * @param person who says it, where several people talk to the same agent
 */
public record Message(String text, List<String> files, String actor, Optional<String> person) {
    private static final int MOST = 1 << 20;

    public Message {
        files = List.copyOf(files);
        if (text.isBlank() && files.isEmpty()) {
            throw SandboxException.invalid("a message has to have a text or a file");
        }
        if (text.length() > MOST) {
            throw SandboxException.invalid("a message has " + MOST + " characters at most; put longer ones in a file");
        }
    }

    public static Message of(String text, String actor) {
        return new Message(text, List.of(), actor, Optional.empty());
    }
}
