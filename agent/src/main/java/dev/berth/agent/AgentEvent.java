package dev.berth.agent;

import java.util.Map;
import java.util.Optional;

/** What an agent does, as it does it, whatever its runtime calls it. */
public sealed interface AgentEvent {
    /** The tool that every agent is given for it, where that is possible. Its arguments are {@code path} and {@code title}. */
    String SHOW_FILE = "showFile";

    /** A run has begun. */
    record Began() implements AgentEvent {}

    /** What it is busy with that is neither text nor a tool: trying again, making its history shorter. */
    record Status(String text) implements AgentEvent {}

    /** A piece of its answer. */
    record Text(String delta) implements AgentEvent {}

    /** A piece of what it thinks before it answers. */
    record Thought(String delta) implements AgentEvent {}

    /**
     * It uses one of its tools.
     *
     * @param call its own name for this use
     * @param title one line for people
     */
    record ToolStarted(String call, String tool, String title, Map<String, Object> arguments) implements AgentEvent {}

    /** @param output all of it so far, or its end */
    record ToolUpdated(String call, String output) implements AgentEvent {}

    /** The tool is done with, well or not. */
    record ToolEnded(String call, boolean ok, String output) implements AgentEvent {}

    /**
     * It asks before it does something, and waits for {@link Agent#decide}.
     *
     * @param tool {@link #SHOW_FILE} if it wants people to see a file, else one of its tools that may need to be allowed
     */
    record Asked(String question, String tool, String title, Map<String, Object> arguments) implements AgentEvent {}

    /** What one call of the model has cost, as far as the agent knows. */
    record Used(long inputTokens, long outputTokens, Optional<Double> cost) implements AgentEvent {}

    /** The file in which the agent keeps the conversation has grown. */
    record Noted() implements AgentEvent {}

    /**
     * A run is over: nothing more comes of it, and the agent waits for the next message. Its file may have grown too.
     *
     * @param message why it failed, for people
     */
    record Ended(Outcome outcome, Optional<String> message) implements AgentEvent {}

    /** How a run ended. */
    enum Outcome {
        DONE,
        ABORTED,
        FAILED
    }
}
