package dev.berth.gateway.http;

import dev.berth.gateway.auth.Unauthenticated;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import io.javalin.http.HttpResponseException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Failures as RFC 9457 problems: the one mapping of the closed set of errors to HTTP. */
final class Problems {
    static final String CONTENT_TYPE = "application/problem+json";

    private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);

    record Problem(int status, Map<String, Object> body, Map<String, String> headers) {}

    private Problems() {}

    static int status(ErrorCode code) {
        return switch (code) {
            case GONE -> 410;
            case NOT_FOUND -> 404;
            case INVALID -> 400;
            case DENIED -> 403;
            case CONFLICT -> 409;
            case LIMIT -> 429;
            case TIMEOUT -> 504;
            case UNAVAILABLE -> 503;
            case UNSUPPORTED -> 501;
        };
    }

    /** @param path where it happened, for the log */
    static Problem of(Exception e, String request, String path) {
        return switch (e) {
            case SandboxException known -> of(known, request);
            case Unauthenticated unknown -> of(unknown, request);
            case HttpProblem http -> plain(http.status(), http.code(), String.valueOf(http.getMessage()), request);
            case HttpResponseException http ->
                plain(http.getStatus(), "invalid", "the request could not be understood", request);
            default -> {
                LOG.atError().addKeyValue("path", path).setCause(e).log("http.failed");
                yield internal(request);
            }
        };
    }

    static Problem of(SandboxException e, String request) {
        boolean tooLarge = "request_bytes".equals(e.details().get(SandboxException.LIMIT));
        int status = tooLarge ? 413 : status(e.code());
        Map<String, Object> body = body(status, e.code().wireName(), e.getMessage(), request);
        e.details().forEach(body::putIfAbsent);
        Map<String, String> headers = new LinkedHashMap<>();
        if (e.details().get(SandboxException.RETRY_AFTER_MS) instanceof Number ms) {
            headers.put("Retry-After", Long.toString(Math.max(1, Math.ceilDiv(ms.longValue(), 1000))));
        } else if (!tooLarge && (e.code() == ErrorCode.LIMIT || e.code() == ErrorCode.UNAVAILABLE)) {
            headers.put("Retry-After", "1");
        }
        return new Problem(status, body, headers);
    }

    static Problem of(Unauthenticated e, String request) {
        return new Problem(
                401,
                body(401, "unauthenticated", String.valueOf(e.getMessage()), request),
                Map.of("WWW-Authenticate", "Bearer realm=\"berth\""));
    }

    /** A fault of ours, of which the log has more. */
    static Problem internal(String request) {
        return plain(
                500, "internal", "this should not have happened; the log has more under this request's id", request);
    }

    static Problem plain(int status, String code, String detail, String request) {
        return new Problem(status, body(status, code, detail, request), Map.of());
    }

    private static Map<String, Object> body(int status, String code, String detail, String request) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("type", "about:blank");
        body.put("title", code.replace('_', ' '));
        body.put("status", status);
        body.put("code", code);
        body.put("detail", detail);
        body.put("request_id", request);
        return body;
    }
}
