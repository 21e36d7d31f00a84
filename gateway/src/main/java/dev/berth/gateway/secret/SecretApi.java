package dev.berth.gateway.secret;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.config.Resealing;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Secrets of a tenant, and for the operator what they are sealed with. Values go in and never come out. */
public final class SecretApi {
    private final Secrets secrets;
    private final Supplier<Resealing.Done> reseal;

    /** @param reseal seals everything with the newest key there is */
    public SecretApi(Secrets secrets, Supplier<Resealing.Done> reseal) {
        this.secrets = secrets;
        this.reseal = reseal;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "listSecrets", this::list,
                "getSecret", exchange -> Answer.ok(show(secrets.get(tenant(exchange), exchange.path("secret")))),
                "putSecret", this::put,
                "deleteSecret", this::delete,
                "reseal", _ -> Answer.ok(reseal.get()));
    }

    private Answer list(Exchange exchange) {
        return Answer.ok(Map.of(
                "secrets",
                secrets.list(tenant(exchange)).stream().map(SecretApi::show).toList()));
    }

    private Answer put(Exchange exchange) {
        Secret.Put put = secrets.put(tenant(exchange), exchange.path("secret"), exchange.body(Secret.Change.class));
        return put.made() ? Answer.created(show(put.secret())) : Answer.ok(show(put.secret()));
    }

    private Answer delete(Exchange exchange) {
        secrets.remove(tenant(exchange), exchange.path("secret"));
        return Answer.done();
    }

    /** The caller's own, or the one that the operator names. Of another tenant nothing is told. */
    private static String tenant(Exchange exchange) {
        Caller caller = exchange.caller();
        String owner = exchange.query("tenant_id").orElse(caller.tenant());
        if (!caller.admin() && !owner.equals(caller.tenant())) {
            throw SandboxException.notFound("there is no tenant " + owner);
        }
        return owner;
    }

    private static Map<String, Object> show(Secret secret) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("name", secret.name());
        shown.put("env", secret.env());
        shown.put("prefix", secret.prefix());
        shown.put("bindings", secret.bindings().stream().map(SecretApi::show).toList());
        shown.put("created_at", secret.createdAt());
        shown.put("updated_at", secret.updatedAt());
        secret.lastUsedAt().ifPresent(at -> shown.put("last_used_at", at));
        shown.put("uses", secret.uses());
        return shown;
    }

    private static Map<String, Object> show(SecretBinding binding) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("hosts", binding.hosts());
        shown.put("ports", Optional.ofNullable(binding.ports()).orElse(List.of()));
        shown.put("methods", Optional.ofNullable(binding.methods()).orElse(List.of()));
        shown.put("paths", Optional.ofNullable(binding.paths()).orElse(List.of()));
        Optional.ofNullable(binding.header()).ifPresent(header -> shown.put("header", header));
        Optional.ofNullable(binding.basic()).ifPresent(basic -> shown.put("basic", basic));
        Optional.ofNullable(binding.query()).ifPresent(query -> shown.put("query", query));
        shown.put("plain", binding.isPlain());
        return shown;
    }
}
