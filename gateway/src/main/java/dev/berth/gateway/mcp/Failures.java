package dev.berth.gateway.mcp;

import dev.berth.sandbox.SandboxException;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse.JSONRPCError;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Failures as errors of JSON-RPC: the one mapping of the closed set of errors to MCP. */
final class Failures {
    private static final Logger LOG = LoggerFactory.getLogger(Failures.class);
    /** What the server decides, in the range that JSON-RPC leaves to servers. */
    private static final int REFUSED = -32000;

    private Failures() {}

    static McpError of(Exception e) {
        return switch (e) {
            case McpError known -> known;
            case SandboxException known -> of(known);
            default -> {
                LOG.atError().setCause(e).log("mcp.failed");
                yield error(
                        ErrorCodes.INTERNAL_ERROR,
                        "this should not have happened; the server's log has more",
                        Map.of("code", "internal"));
            }
        };
    }

    private static McpError of(SandboxException e) {
        int code = switch (e.code()) {
            case INVALID, NOT_FOUND -> ErrorCodes.INVALID_PARAMS;
            case GONE, DENIED, CONFLICT, LIMIT, TIMEOUT, UNAVAILABLE, UNSUPPORTED -> REFUSED;
        };
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("code", e.code().wireName());
        e.details().forEach(data::putIfAbsent);
        return error(code, String.valueOf(e.getMessage()), data);
    }

    static McpError noResource(String uri) {
        return error(
                ErrorCodes.RESOURCE_NOT_FOUND,
                "there is no such artifact; it may have been removed, or its time may be over",
                Map.of("code", "not_found", "uri", uri));
    }

    private static McpError error(int code, String message, Map<String, Object> data) {
        return new McpError(new JSONRPCError(code, message, data));
    }
}
