package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.store.Database;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.LinkedHashMap;
import java.util.Map;

/** Whether the server is well, what it counts, and what it can do. */
public final class ServerApi {
    private static final SandboxId NOBODY = new SandboxId("nobody-has-this-name");

    private final Database database;
    private final SandboxProvider provider;
    private final PrometheusMeterRegistry meters;
    private final Contract contract;

    public ServerApi(Database database, SandboxProvider provider, PrometheusMeterRegistry meters, Contract contract) {
        this.database = database;
        this.provider = provider;
        this.meters = meters;
        this.contract = contract;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "health", _ -> Answer.ok(Map.of("status", "ok")),
                "readiness", _ -> readiness(),
                "metrics", _ -> new Answer.Text("text/plain; version=0.0.4; charset=utf-8", meters.scrape()),
                "openapi", _ -> Answer.ok(contract.document()),
                "docs", _ -> new Answer.Text("text/html; charset=utf-8", DocsPage.of(contract.document())));
    }

    private Answer readiness() {
        Map<String, String> checks = new LinkedHashMap<>();
        boolean ready = check(checks, "database", database.reachable());
        ready = check(checks, "provider", providerAnswers()) && ready;
        return new Answer.Json(ready ? 200 : 503, Map.of("status", ready ? "ready" : "not ready", "checks", checks));
    }

    private boolean providerAnswers() {
        try {
            return provider.find(NOBODY).isEmpty();
        } catch (SandboxException e) {
            return false;
        }
    }

    private static boolean check(Map<String, String> checks, String part, boolean well) {
        checks.put(part, well ? "ok" : "cannot be reached");
        return well;
    }
}
