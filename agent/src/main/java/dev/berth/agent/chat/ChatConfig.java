package dev.berth.agent.chat;

import dev.berth.sandbox.SandboxException;

/**
 * How a model that talks by itself is set up.
 *
 * @param instructions what it is told before the conversation
 * @param rounds how often it is asked about one message; each use of its tools costs one
 * @param toolResult how many characters of what a tool says it is given
 * @param history how many characters of the conversation it is given; the oldest are left out first
 */
public record ChatConfig(String instructions, int rounds, int toolResult, int history) {
    static final int LEAST_HISTORY = 8 << 10;

    public static final ChatConfig DEFAULT = new ChatConfig("""
            You talk with people in a conversation that has its own Linux computer. Answer by yourself what you know. \
            Whatever needs a computer, such as running or writing a program, working with files or looking something up \
            with a command, you give to the coding agent on it, by the tool `sandbox`. It does not hear this \
            conversation, so tell it all it needs, with the paths of files. Tell people what came out, in short, and \
            never say that something was done that was not. Show them files with the tool `show_file`.""", 12, 32 << 10, 400_000);

    public ChatConfig {
        if (rounds < 1 || toolResult < 1 || history < LEAST_HISTORY) {
            throw SandboxException.invalid("a chat needs at least 1 round, 1 character of a tool's result, and "
                    + LEAST_HISTORY + " characters of history");
        }
    }
}
