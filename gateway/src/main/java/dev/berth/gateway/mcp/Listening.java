package dev.berth.gateway.mcp;

import dev.berth.gateway.http.EventStream;
import io.modelcontextprotocol.spec.McpStreamableServerSession.McpStreamableServerSessionStream;
import java.io.IOException;

/** A client that waits for what the server says by itself. When it goes, the protocol's session knows. */
record Listening(Reply reply, McpStreamableServerSessionStream stream) implements EventStream.Source {
    @Override
    public void send(EventStream events) throws IOException, InterruptedException {
        reply.send(events);
    }

    @Override
    public void close() {
        stream.close();
    }
}
