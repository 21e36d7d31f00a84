package dev.berth.agent.acp;

import dev.berth.agent.line.LineChannel;
import dev.berth.agent.line.LineChannel.Receiver;
import dev.berth.sandbox.RunningCommand;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.filter.TokenFilter;
import tools.jackson.databind.node.ObjectNode;

/** The pipes of an agent, a message a line. */
record PipeWire(LineChannel channel) implements Wire {
    /** Whole files come with edits, and nobody is told of them. */
    private static final TokenFilter WANTED = new TokenFilter() {
        @Override
        public @Nullable TokenFilter includeProperty(String name) {
            return switch (name) {
                case "oldText", "newText", "availableCommands" -> null;
                default -> this;
            };
        }
    };

    static Wire open(RunningCommand command, long position, Receiver receiver) {
        return new PipeWire(LineChannel.open(command, position, WANTED, receiver));
    }

    /** One whose server may have been killed while it wrote. */
    static Wire reopen(RunningCommand command, long position, Receiver receiver) {
        LineChannel channel = LineChannel.open(command, position, WANTED, receiver);
        channel.endLine();
        return new PipeWire(channel);
    }

    @Override
    public void send(ObjectNode message) {
        channel.send(message);
    }

    @Override
    public String complaint() {
        return channel.complaint();
    }

    @Override
    public void end() {
        channel.end();
    }

    @Override
    public void close() {
        channel.close();
    }
}
