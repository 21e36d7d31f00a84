package dev.berth.gateway.mcp;

import dev.berth.gateway.http.Exchange;
import dev.berth.tool.Stop;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import java.util.Map;
import java.util.Objects;

/**
 * What a handler knows of the request beside its parameters.
 *
 * @param exchange how it came, and from whom
 * @param reply where the answer goes
 * @param stop by which the client ends it
 */
record Incoming(Exchange exchange, Conversation conversation, Reply reply, Stop stop) {
    private static final String KEY = "berth.incoming";

    McpTransportContext context() {
        return McpTransportContext.create(Map.of(KEY, this));
    }

    static Incoming of(McpAsyncServerExchange exchange) {
        return (Incoming) Objects.requireNonNull(exchange.transportContext().get(KEY));
    }

    /** The session whose computer is meant where a call names none. */
    String session() {
        return exchange.header("X-Berth-Session")
                .or(() -> exchange.query("session"))
                .orElse("mcp:" + conversation.id());
    }

    /** Whose session it is. */
    String tenant() {
        return exchange.query("tenant_id").orElse(exchange.caller().tenant());
    }
}
