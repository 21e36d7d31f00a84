package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Sessions;
import dev.berth.session.TenantLimits;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Tenants, for the operator. */
public final class TenantApi {
    record Limits(
            @Nullable Integer live,
            @Nullable Integer createdPerMinute,
            @Nullable Long memoryBytes,
            @Nullable Long diskBytes,
            @Nullable Boolean makesRoom) {}

    private final Sessions sessions;

    public TenantApi(Sessions sessions) {
        this.sessions = sessions;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "listTenants", _ -> list(),
                "getTenant", exchange -> Answer.ok(tenant(exchange.path("tenant_id"))),
                "putTenant", this::put,
                "usage", _ -> Answer.ok(Map.of("tenants", sessions.usage())));
    }

    private Answer list() {
        List<Map<String, Object>> all =
                sessions.tenants().stream().map(this::tenant).toList();
        return Answer.ok(Map.of("tenants", all));
    }

    private Map<String, Object> tenant(String id) {
        TenantLimits limits =
                sessions.tenant(id).orElseThrow(() -> SandboxException.notFound("there is no tenant " + id));
        Map<String, Object> shown = new LinkedHashMap<>();
        limits.live().ifPresent(value -> shown.put("live", value));
        limits.createdPerMinute().ifPresent(value -> shown.put("created_per_minute", value));
        limits.memoryBytes().ifPresent(value -> shown.put("memory_bytes", value));
        limits.diskBytes().ifPresent(value -> shown.put("disk_bytes", value));
        shown.put("makes_room", limits.makesRoom());
        return Map.of("tenant_id", id, "limits", shown);
    }

    private Answer put(Exchange exchange) {
        Limits wanted = exchange.body(Limits.class);
        String id = exchange.path("tenant_id");
        sessions.tenant(
                id,
                new TenantLimits(
                        Optional.ofNullable(wanted.live()),
                        Optional.ofNullable(wanted.createdPerMinute()),
                        Optional.ofNullable(wanted.memoryBytes()),
                        Optional.ofNullable(wanted.diskBytes()),
                        wanted.makesRoom() == null || wanted.makesRoom()));
        return Answer.ok(tenant(id));
    }
}
