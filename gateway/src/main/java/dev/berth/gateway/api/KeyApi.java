package dev.berth.gateway.api;

import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Keys: a tenant's own, and those of any tenant for the operator. */
public final class KeyApi {
    private static final Duration OVERLAP = Duration.ofHours(1);

    record NewKey(
            String name,
            @Nullable List<String> scopes,
            @Nullable Long expiresInSeconds,
            @Nullable String form) {}

    private final ApiKeys keys;

    public KeyApi(ApiKeys keys) {
        this.keys = keys;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "listKeys", exchange -> list(own(exchange)),
                "makeKey", exchange -> make(exchange, own(exchange)),
                "revokeKey", exchange -> revoke(exchange, own(exchange)),
                "rotateKey", exchange -> rotate(exchange, own(exchange)),
                "listTenantKeys", exchange -> list(exchange.path("tenant_id")),
                "makeTenantKey", exchange -> make(exchange, exchange.path("tenant_id")),
                "revokeTenantKey", exchange -> revoke(exchange, exchange.path("tenant_id")));
    }

    private static String own(Exchange exchange) {
        return exchange.caller().tenant();
    }

    private Answer list(String tenant) {
        return Answer.ok(Map.of("keys", keys.list(tenant)));
    }

    private Answer make(Exchange exchange, String tenant) {
        NewKey wanted = exchange.body(NewKey.class);
        Set<Scope> scopes = wanted.scopes() == null
                ? exchange.caller().admin() ? Scope.ALL : exchange.caller().scopes()
                : wanted.scopes().stream().map(Scope::parse).collect(Collectors.toSet());
        // Nobody gives away more than they have.
        scopes.forEach(exchange.caller()::require);
        Optional<Instant> expires = Optional.ofNullable(wanted.expiresInSeconds())
                .map(s -> Instant.now().plusSeconds(s));
        return Answer.created(keys.make(tenant, wanted.name(), scopes, expires, form(wanted.form())));
    }

    private Answer revoke(Exchange exchange, String tenant) {
        keys.revoke(tenant, exchange.path("key_id"));
        return Answer.done();
    }

    private Answer rotate(Exchange exchange, String tenant) {
        Duration overlap = exchange.body().has("overlap_seconds")
                ? Duration.ofSeconds(exchange.body().path("overlap_seconds").asLong())
                : OVERLAP;
        return Answer.created(keys.rotate(
                tenant,
                exchange.path("key_id"),
                overlap,
                form(exchange.body().path("form").asString(null))));
    }

    private static ApiKeys.Form form(@Nullable String name) {
        return name == null ? ApiKeys.Form.BERTH : ApiKeys.Form.parse(name);
    }
}
