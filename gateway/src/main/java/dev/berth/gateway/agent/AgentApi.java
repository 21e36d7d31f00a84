package dev.berth.gateway.agent;

import dev.berth.gateway.api.SessionApi;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Which agent sessions have. */
public final class AgentApi {
    private final AgentChoices choices;
    private final Sessions sessions;
    private final Networks networks;
    private final Set<String> runtimes;

    /** @param runtimes the names of those there are */
    public AgentApi(AgentChoices choices, Sessions sessions, Networks networks, Set<String> runtimes) {
        this.choices = choices;
        this.sessions = sessions;
        this.networks = networks;
        this.runtimes = new TreeSet<>(runtimes);
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "sessionAgent",
                exchange -> show(SessionApi.key(exchange)),
                "chooseSessionAgent",
                this::chooseForSession,
                "tenantAgent",
                exchange -> show(tenant(exchange)),
                "chooseTenantAgent",
                this::chooseForTenant);
    }

    private Answer chooseForSession(Exchange exchange) {
        SessionKey key = SessionApi.key(exchange);
        requireTenant(key.tenant());
        choices.table().put(key, read(key.tenant(), exchange), exchange.caller().name());
        return show(key);
    }

    private Answer chooseForTenant(Exchange exchange) {
        String tenant = tenant(exchange);
        choices.table().put(tenant, read(tenant, exchange), exchange.caller().name());
        return show(tenant);
    }

    private String tenant(Exchange exchange) {
        String tenant = exchange.path("tenant_id");
        if (!exchange.caller().admin() && !tenant.equals(exchange.caller().tenant())) {
            throw noTenant();
        }
        requireTenant(tenant);
        return tenant;
    }

    private void requireTenant(String tenant) {
        if (sessions.tenant(tenant).isEmpty()) {
            throw noTenant();
        }
    }

    private static SandboxException noTenant() {
        return SandboxException.notFound("there is no such tenant");
    }

    private AgentChoice read(String tenant, Exchange exchange) {
        AgentChoice choice = AgentChoice.read(exchange.body());
        choice.runtime().filter(name -> !runtimes.contains(name)).ifPresent(name -> {
            throw SandboxException.invalid(
                    "there is no runtime '" + name + "' here; there are " + String.join(", ", runtimes));
        });
        choice.model().ifPresent(model -> requireAllowed(tenant, model));
        return choice;
    }

    /** What a tenant may not say of a session's network, it may not say of a model either. */
    private void requireAllowed(String tenant, ModelChoice model) {
        model.rule().ifPresent(rule -> networks.check(tenant, Network.restricted(rule), "model.url: "));
        model.secret()
                .ifPresent(name -> networks.check(
                        tenant,
                        new Network(Network.Mode.RESTRICTED, List.of(), List.of(name), Network.Caps.DEFAULT),
                        "model."));
        var _ = choices.network(model); // what the operator allows and this have to go together
    }

    private Answer show(SessionKey key) {
        return show(choices.table().of(key), choices.effective(key));
    }

    private Answer show(String tenant) {
        return show(choices.table().of(tenant), choices.effective(tenant));
    }

    private static Answer show(AgentChoice own, AgentChoice effective) {
        return Answer.ok(Map.of("own", own.show(), "effective", effective.show()));
    }
}
