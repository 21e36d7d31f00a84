package dev.berth.gateway.agent;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.run.Choices;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.secret.Secret;
import dev.berth.gateway.secret.Secrets;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which agent a session has: its own choice goes before that of its tenant, and that before the server's. */
public final class AgentChoices implements Choices {
    /** The runtime whose own model is asked by this server; the coding agent that it gives work to has another. */
    static final String CHAT = "chat";

    private final AgentsConfig config;
    private final Map<String, AgentRuntime> runtimes;
    private final Sessions sessions;
    private final Secrets secrets;
    private final Networks networks;
    private final ChoiceTable table;

    public AgentChoices(
            AgentsConfig config,
            Map<String, AgentRuntime> runtimes,
            Sessions sessions,
            Secrets secrets,
            Networks networks,
            Database database) {
        this.config = config;
        this.runtimes = runtimes;
        this.sessions = sessions;
        this.secrets = secrets;
        this.networks = networks;
        this.table = new ChoiceTable(database);
    }

    ChoiceTable table() {
        return table;
    }

    /** What counts for a tenant. */
    AgentChoice effective(String tenant) {
        return table.of(tenant).over(AgentChoice.of(config));
    }

    /** What counts for a session. */
    AgentChoice effective(SessionKey session) {
        return table.of(session).over(effective(session.tenant()));
    }

    /**
     * @throws SandboxException {@code unsupported} if no model is set up, {@code conflict} if the session that is there
     *     cannot reach it
     */
    @Override
    public Choice of(SessionKey session) {
        AgentChoice choice = effective(session);
        String runtime = choice.runtime().orElseThrow();
        String instructions = choice.instructions().orElseThrow();
        if (runtime.equals(CHAT) && config.chat().isEmpty()) {
            throw SandboxException.unsupported(
                    "no model is set up for the runtime 'chat'; the operator of this server has"
                            + " to set agent.chat.url and agent.chat.model");
        }
        ModelChoice model = choice.model().orElseThrow(AgentChoices::noModel);
        Optional<Secret> secret = model.secret().map(name -> secret(session.tenant(), name));
        Network network = network(model);
        networks.requireSupported(network);
        sessions.find(session)
                .filter(info -> info.state() != SessionState.DESTROYED)
                .ifPresent(info -> requireReach(info, model));
        Model asked = new Model(model.provider(), model.name(), model.url(), model.protocol(), secret.map(Secret::env));
        SessionSpec spec = room(sessions.spec().withTemplate(config.template()).withNetwork(network), runtime);
        return new Choice(runtime, new AgentConfig(instructions, asked, config.patience()), spec);
    }

    /** With as much memory as the agent needs, if that is more than sessions have by themselves. */
    private SessionSpec room(SessionSpec spec, String runtime) {
        long needed = Optional.ofNullable(runtimes.get(runtime))
                .map(AgentRuntime::memoryBytes)
                .orElse(0L);
        return spec.limits().memoryBytes() >= needed
                ? spec
                : spec.withLimits(spec.limits().withMemory(needed));
    }

    private static SandboxException noModel() {
        return SandboxException.unsupported("no model is set up for agents; set agent.model.provider and"
                + " agent.model.name on the server (with agent.model.secret for its key), or choose a model for the"
                + " tenant by PUT /v1/tenants/{tenant_id}/agent");
    }

    private Secret secret(String tenant, String name) {
        return secrets.list(tenant).stream()
                .filter(secret -> secret.name().equals(name))
                .findFirst()
                .orElseThrow(() -> SandboxException.unsupported("there is no secret '" + name
                        + "', by which agents reach their model; make it with 'berth secret set " + name
                        + " --host HOST', where HOST is the one that serves the model"));
    }

    /** What sessions of agents may reach that are made now: the model, and what the operator opens to all of them. */
    Network network(ModelChoice model) {
        Network usual = sessions.spec().network();
        boolean open = usual.mode() == Mode.OPEN;
        List<Rule> rules = new ArrayList<>(usual.allow());
        rules.addAll(config.allow());
        model.rule().filter(rule -> !rules.contains(rule)).ifPresent(rules::add);
        if (open) { // which reaches everything else anyway
            rules.removeIf(rule -> !(rule.destination() instanceof Cidr));
        }
        List<String> named = new ArrayList<>(usual.secrets());
        model.secret().ifPresent(named::add);
        return new Network(open ? Mode.OPEN : Mode.RESTRICTED, rules, named, usual.caps());
    }

    /** A session that is there keeps the network it has, as whoever made it meant it. */
    private static void requireReach(SessionInfo info, ModelChoice model) {
        Network has = info.network();
        boolean closed = has.mode() == Mode.NONE;
        List<String> missing = model.secret().stream()
                .filter(name -> !has.secrets().contains(name))
                .toList();
        if (closed || !missing.isEmpty()) {
            throw SandboxException.conflict("the agent of this session could not reach its model: the session "
                    + (closed ? "has no network" : "may not use the secret '" + missing.getFirst() + "'")
                    + "; change that by PUT /v1/sessions/{session_id}/network, or talk to an agent in a session of its"
                    + " own, which is made with the first message");
        }
    }
}
