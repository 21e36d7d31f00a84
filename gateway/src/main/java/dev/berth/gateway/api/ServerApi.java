package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.session.store.Database;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Whether the server is well, what it counts, and what it can do. */
public final class ServerApi {
    private final Database database;
    private final BooleanSupplier providerWell;
    private final PrometheusMeterRegistry meters;
    private final Contract contract;

    public ServerApi(
            Database database, BooleanSupplier providerWell, PrometheusMeterRegistry meters, Contract contract) {
        this.database = database;
        this.providerWell = providerWell;
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
        boolean database = check(checks, "database", this.database.reachable());
        boolean provider = check(checks, "provider", providerWell.getAsBoolean());
        boolean ready = database && provider;
        return new Answer.Json(ready ? 200 : 503, Map.of("status", ready ? "ready" : "not ready", "checks", checks));
    }

    private static boolean check(Map<String, String> checks, String part, boolean well) {
        checks.put(part, well ? "ok" : "cannot be reached");
        return well;
    }
}
