package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Checkpoints;
import dev.berth.session.KeptCheckpoint;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionQuery;
import dev.berth.session.Sessions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/** Checkpoints that outlive their session. */
public final class CheckpointApi {
    private static final int PAGE = 100;

    private final Sessions sessions;
    private final Checkpoints checkpoints;

    public CheckpointApi(Sessions sessions) {
        this.sessions = sessions;
        this.checkpoints = sessions.checkpoints();
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "keptCheckpoints", this::list,
                "keepCheckpoint", this::keep,
                "deleteCheckpoint", this::delete);
    }

    static SandboxException unknown() {
        return SandboxException.notFound("there is no such checkpoint");
    }

    private Answer list(Exchange exchange) {
        String tenant = SessionApi.tenant(exchange.caller(), exchange.query("tenant_id"));
        Optional<SessionQuery.Cursor> after = exchange.query("after_checkpoint")
                .map(id -> checkpoints.find(tenant, id).orElseThrow(CheckpointApi::unknown))
                .map(last -> new SessionQuery.Cursor(last.createdAt(), last.id()));
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
        return Answer.ok(Map.of(
                "checkpoints",
                checkpoints.list(tenant, exchange.query("session_id"), exchange.query("name"), after, limit).stream()
                        .map(CheckpointApi::show)
                        .toList()));
    }

    private Answer keep(Exchange exchange) {
        ObjectNode body = exchange.body();
        SessionKey key = SessionApi.key(
                exchange.caller(),
                SandboxApi.optional(body, "tenant_id"),
                body.path("session_id").asString());
        KeptCheckpoint kept = checkpoints.keep(
                SessionApi.known(sessions, key).key(),
                SandboxApi.optional(body, "name"),
                exchange.caller().name());
        return Answer.created(show(kept));
    }

    private Answer delete(Exchange exchange) {
        String tenant = SessionApi.tenant(exchange.caller(), exchange.query("tenant_id"));
        if (!checkpoints.delete(tenant, exchange.path("checkpoint_id"))) {
            throw unknown();
        }
        return Answer.done();
    }

    private static Map<String, Object> show(KeptCheckpoint kept) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("checkpoint_id", kept.id());
        shown.put("tenant_id", kept.session().tenant());
        shown.put("session_id", kept.session().id());
        kept.name().ifPresent(name -> shown.put("name", name));
        shown.put("template", kept.template());
        shown.put("disk", kept.diskBytes());
        shown.put("created_at", kept.createdAt());
        return shown;
    }
}
