package dev.berth.gateway.api;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The sessions that a caller may see. */
public final class SessionApi {
    private static final int MOST = 1000;

    private final Sessions sessions;

    public SessionApi(Sessions sessions) {
        this.sessions = sessions;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("listSessions", this::list, "deleteSession", this::delete);
    }

    /** The key of a session that a request names. */
    static SessionKey key(Caller caller, Optional<String> tenant, String session) {
        return SessionKey.of(tenant(caller, tenant), session);
    }

    /** Whose things a request is about. Of another tenant nothing is told, not even that it is another one's. */
    static String tenant(Caller caller, Optional<String> named) {
        String owner = named.orElse(caller.tenant());
        if (!caller.admin() && !owner.equals(caller.tenant())) {
            throw unknown();
        }
        return owner;
    }

    static SandboxException unknown() {
        return SandboxException.notFound("there is no such session");
    }

    private Answer list(Exchange exchange) {
        Caller caller = exchange.caller();
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(MOST);
        Optional<String> tenant = caller.admin() ? Optional.empty() : Optional.of(caller.tenant());
        return Answer.ok(Map.of(
                "sessions",
                sessions.list(tenant, limit).stream().map(SessionApi::show).toList()));
    }

    private static Map<String, Object> show(SessionInfo info) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("tenant_id", info.key().tenant());
        shown.put("session_id", info.key().id());
        shown.put("state", info.state().toString());
        shown.put("backend", info.provider());
        shown.put("template", info.template());
        shown.put("created_at", info.times().createdAt());
        shown.put("last_used_at", info.times().lastActivityAt());
        shown.put("memory", info.limits().memoryBytes());
        shown.put("disk", info.diskBytes());
        info.lastError().ifPresent(error -> shown.put("last_error", error));
        return shown;
    }

    private Answer delete(Exchange exchange) {
        SessionKey key = key(exchange.caller(), Optional.of(exchange.path("tenant_id")), exchange.path("session_id"));
        if (sessions.find(key)
                .filter(info -> !info.state().toString().equals("destroyed"))
                .isEmpty()) {
            throw unknown();
        }
        sessions.delete(key);
        return Answer.done();
    }
}
