package dev.berth.gateway.api;

import dev.berth.gateway.config.SandboxConfig;
import dev.berth.gateway.config.SandboxConfigs;
import dev.berth.gateway.config.SandboxConfigs.Stored;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Named sandbox configurations of a tenant. */
public final class ConfigApi {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String HIDDEN = "********";

    private final SandboxConfigs configs;
    private final Sessions sessions;
    private final Contract contract;
    private final String provider;
    private final Networks networks;

    public ConfigApi(SandboxConfigs configs, Sessions sessions, Contract contract, String provider, Networks networks) {
        this.configs = configs;
        this.sessions = sessions;
        this.contract = contract;
        this.provider = provider;
        this.networks = networks;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "makeSandboxConfig", this::make,
                "listSandboxConfigs", this::list,
                "getSandboxConfig", exchange -> Answer.ok(show(stored(exchange))),
                "changeSandboxConfig", this::change,
                "deleteSandboxConfig", this::delete);
    }

    private Answer make(Exchange exchange) {
        ObjectNode body = exchange.body();
        ObjectNode config = body.has("config") ? (ObjectNode) body.get("config") : JSON.createObjectNode();
        checked(exchange, config);
        return Answer.created(show(configs.make(
                exchange.caller().tenant(), body.path("name").asString(), text(body, "description"), config)));
    }

    private Answer list(Exchange exchange) {
        return Answer.ok(Map.of(
                "sandboxes",
                configs.list(exchange.caller().tenant()).stream()
                        .map(ConfigApi::show)
                        .toList()));
    }

    /** Merged into what is there, and checked as a whole. A null takes something away (RFC 7396). */
    private Answer change(Exchange exchange) {
        Stored before = stored(exchange);
        ObjectNode body = exchange.body();
        ObjectNode config = before.json().deepCopy();
        if (body.has("config")) {
            merge(config, (ObjectNode) body.get("config"));
        }
        Contract.check(contract.schema("SandboxConfig"), config);
        checked(exchange, config);
        String description = body.has("description")
                ? text(body, "description")
                : before.description().orElse(null);
        return Answer.ok(show(configs.change(
                before, body.has("name") ? body.path("name").asString() : before.name(), description, config)));
    }

    private static void merge(ObjectNode into, ObjectNode patch) {
        patch.properties().forEach(field -> {
            JsonNode value = field.getValue();
            if (value.isNull()) {
                into.remove(field.getKey());
            } else if (value instanceof ObjectNode inner && into.get(field.getKey()) instanceof ObjectNode known) {
                merge(known, inner);
            } else {
                into.set(field.getKey(), value);
            }
        });
    }

    /** Releases the computers it made, and then itself. */
    private Answer delete(Exchange exchange) {
        Stored config = stored(exchange);
        for (SessionKey session : configs.sessions(config)) {
            if (sessions.find(session).isPresent()) {
                sessions.delete(session);
            }
        }
        configs.delete(config);
        return Answer.done();
    }

    private Stored stored(Exchange exchange) {
        return configs.get(exchange.caller().tenant(), exchange.path("sandbox_id"));
    }

    private void checked(Exchange exchange, ObjectNode config) {
        try {
            JSON.treeToValue(config, SandboxConfig.class)
                    .check(provider, exchange.caller().tenant(), networks);
        } catch (tools.jackson.core.JacksonException e) {
            throw SandboxException.invalid("the configuration cannot be understood: " + e.getOriginalMessage());
        }
    }

    private static Map<String, Object> show(Stored stored) {
        ObjectNode config = stored.json().deepCopy();
        if (config.get("envVars") instanceof ObjectNode env) {
            env.properties().stream().map(Map.Entry::getKey).toList().forEach(name -> env.put(name, HIDDEN));
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("sandboxId", stored.id());
        shown.put("name", stored.name());
        stored.description().ifPresent(text -> shown.put("description", text));
        shown.put("config", config);
        shown.put("createdAt", stored.createdAt());
        shown.put("updatedAt", stored.updatedAt());
        return shown;
    }

    private static @Nullable String text(ObjectNode body, String field) {
        return body.hasNonNull(field) ? body.path(field).asString() : null;
    }
}
