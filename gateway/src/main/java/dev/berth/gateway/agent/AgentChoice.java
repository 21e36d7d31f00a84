package dev.berth.gateway.agent;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/** What a tenant, or a session, wants to have in place of what the server is set to; the rest stays as it is there. */
record AgentChoice(Optional<String> runtime, Optional<ModelChoice> model, Optional<String> instructions) {
    static final AgentChoice NONE = new AgentChoice(Optional.empty(), Optional.empty(), Optional.empty());

    /** The model is taken as a whole: half of one and half of another would be none. */
    AgentChoice over(AgentChoice below) {
        return new AgentChoice(
                runtime.or(below::runtime), model.or(below::model), instructions.or(below::instructions));
    }

    static AgentChoice of(AgentsConfig server) {
        return new AgentChoice(Optional.of(server.runtime()), server.model(), Optional.of(server.instructions()));
    }

    static AgentChoice read(JsonNode json) {
        JsonNode model = json.path("model");
        return new AgentChoice(
                text(json, "runtime"),
                model.isObject()
                        ? Optional.of(new ModelChoice(
                                model.path("provider").asString(),
                                model.path("name").asString(),
                                text(model, "url"),
                                text(model, "protocol").orElse(ModelChoice.PROTOCOL),
                                text(model, "secret")))
                        : Optional.empty(),
                text(json, "instructions"));
    }

    private static Optional<String> text(JsonNode json, String name) {
        return json.path(name).isString() ? Optional.of(json.path(name).asString()) : Optional.empty();
    }

    Map<String, Object> show() {
        Map<String, Object> shown = new LinkedHashMap<>();
        runtime.ifPresent(name -> shown.put("runtime", name));
        model.ifPresent(it -> {
            Map<String, Object> how = new LinkedHashMap<>();
            how.put("provider", it.provider());
            how.put("name", it.name());
            it.url().ifPresent(url -> how.put("url", url));
            how.put("protocol", it.protocol());
            it.secret().ifPresent(secret -> how.put("secret", secret));
            shown.put("model", how);
        });
        instructions.ifPresent(text -> shown.put("instructions", text));
        return shown;
    }
}
