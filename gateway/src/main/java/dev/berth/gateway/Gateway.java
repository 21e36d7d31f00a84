package dev.berth.gateway;

import dev.berth.agent.AgentRuntime;
import dev.berth.agent.acp.AcpRuntime;
import dev.berth.agent.chat.ChatConfig;
import dev.berth.agent.chat.ChatRuntime;
import dev.berth.agent.chat.ModelClient;
import dev.berth.agent.chat.ModelConfig;
import dev.berth.agent.pi.PiRuntime;
import dev.berth.agent.run.Runs;
import dev.berth.agent.sandboxagent.SandboxAgentRuntime;
import dev.berth.gateway.agent.AgentApi;
import dev.berth.gateway.agent.AgentChoices;
import dev.berth.gateway.agent.AgentPermissions;
import dev.berth.gateway.agent.AgentsConfig;
import dev.berth.gateway.agent.PromptApi;
import dev.berth.gateway.api.ArtifactApi;
import dev.berth.gateway.api.Calls;
import dev.berth.gateway.api.CheckpointApi;
import dev.berth.gateway.api.ConfigApi;
import dev.berth.gateway.api.EventApi;
import dev.berth.gateway.api.FileApi;
import dev.berth.gateway.api.JobApi;
import dev.berth.gateway.api.KeyApi;
import dev.berth.gateway.api.PreviewApi;
import dev.berth.gateway.api.SandboxApi;
import dev.berth.gateway.api.ServerApi;
import dev.berth.gateway.api.SessionApi;
import dev.berth.gateway.api.SkillApi;
import dev.berth.gateway.api.TenantApi;
import dev.berth.gateway.api.TerminalApi;
import dev.berth.gateway.api.ToolApi;
import dev.berth.gateway.api.UploadApi;
import dev.berth.gateway.api.Uploads;
import dev.berth.gateway.api.WebhookApi;
import dev.berth.gateway.approval.ApprovalApi;
import dev.berth.gateway.approval.Approvals;
import dev.berth.gateway.auth.AdminKey;
import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.auth.Authenticator;
import dev.berth.gateway.auth.OidcTokens;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.channel.Talk;
import dev.berth.gateway.config.Resealing;
import dev.berth.gateway.config.SandboxConfigs;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.e2b.Egress;
import dev.berth.gateway.e2b.TransformBook;
import dev.berth.gateway.e2b.TransformTable;
import dev.berth.gateway.e2b.Transforms;
import dev.berth.gateway.e2b.VolumeBook;
import dev.berth.gateway.e2b.template.TemplateOwners;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.egress.Outbound;
import dev.berth.gateway.egress.RunningCalls;
import dev.berth.gateway.egress.SecretBook;
import dev.berth.gateway.egress.SessionPolicies;
import dev.berth.gateway.http.Admission;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Contract.Operation;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.HttpServer;
import dev.berth.gateway.http.Idempotency;
import dev.berth.gateway.http.SocketEndpoint;
import dev.berth.gateway.mcp.ArtifactResources;
import dev.berth.gateway.mcp.McpApi;
import dev.berth.gateway.mcp.McpTransport;
import dev.berth.gateway.preview.PreviewHandler;
import dev.berth.gateway.secret.SecretApi;
import dev.berth.gateway.secret.Secrets;
import dev.berth.gateway.secret.SessionSecrets;
import dev.berth.gateway.skill.Skills;
import dev.berth.gateway.terminal.Terminals;
import dev.berth.gateway.webhook.Webhooks;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.job.Jobs;
import dev.berth.session.store.Database;
import dev.berth.tool.Interpreter;
import dev.berth.tool.MimeTypes;
import dev.berth.tool.OutputStore;
import dev.berth.tool.Runner;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The API, listening. */
public final class Gateway implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);

    private final HttpServer server;
    private final Sessions sessions;
    private final Terminals terminals;
    private final PreviewHandler previews;
    private final Optional<E2bSurface> e2b;
    private final ApiKeys keys;
    private final McpTransport mcp;
    private final Jobs jobs;
    private final Runs runs;
    private final Talk talk;
    private final Sealer sealer;
    private final Webhooks webhooks;
    private final Secrets secrets;
    private final Outbound outbound;
    private final Thread resealer;
    private final ScheduledExecutorService housekeeping;

    private Gateway(
            HttpServer server,
            Sessions sessions,
            Terminals terminals,
            PreviewHandler previews,
            Optional<E2bSurface> e2b,
            ApiKeys keys,
            McpTransport mcp,
            Jobs jobs,
            Runs runs,
            Talk talk,
            Sealer sealer,
            Webhooks webhooks,
            Secrets secrets,
            Outbound outbound,
            Thread resealer,
            ScheduledExecutorService housekeeping) {
        this.server = server;
        this.sessions = sessions;
        this.terminals = terminals;
        this.previews = previews;
        this.e2b = e2b;
        this.keys = keys;
        this.mcp = mcp;
        this.jobs = jobs;
        this.runs = runs;
        this.talk = talk;
        this.sealer = sealer;
        this.webhooks = webhooks;
        this.secrets = secrets;
        this.outbound = outbound;
        this.resealer = resealer;
        this.housekeeping = housekeeping;
    }

    public static Gateway start(
            GatewayConfig config,
            Sessions sessions,
            SandboxProvider provider,
            Database database,
            PrometheusMeterRegistry meters) {
        Contract contract = Contract.load();
        ApiKeys keys = new ApiKeys(database);
        Sealer sealer = new Sealer(config.sealingKeys().get());
        Resealing resealing =
                new Resealing(database, sealer, sealed(config.features().sealed()));
        Secrets secrets = new Secrets(database, sealer, config.features().plainSecrets(), InstantSource.system());
        SandboxConfigs configs = new SandboxConfigs(database, sealer, InstantSource.system());
        Skills skills = new Skills(database);
        SecureRandom random = new SecureRandom();
        OutputStore outputs =
                OutputStore.open(config.outputs(), OutputStore.Bounds.DEFAULT, InstantSource.system(), random);
        Runner runner = new Runner(outputs, sessions.turns(), random);
        Interpreter interpreter = new Interpreter(outputs, sessions.turns(), random);
        Artifacts artifacts = Artifacts.open(
                config.features().artifacts(),
                database,
                sessions.events(),
                MimeTypes::of,
                InstantSource.system(),
                random);
        Approvals approvals = new Approvals(
                database, sealer, sessions, random, config.features().approvalPatience());
        RunningCalls running = new RunningCalls();
        Calls calls = new Calls(sessions, approvals, artifacts, config.tools(), running);
        EventApi events = new EventApi(sessions, config.server().heartbeat());
        Terminals terminals = new Terminals(sessions);
        TerminalApi terminalApi = new TerminalApi(sessions, terminals, contract);
        Webhooks webhooks = new Webhooks(database, sealer, config.features().webhooks());
        Jobs jobs = Jobs.open(config.features().jobs(), sessions, provider, database, new JobEnds(artifacts, webhooks));
        JobApi jobApi = new JobApi(calls, runner, jobs);
        TransformTable headers = new TransformTable(database, sealer);
        SecretBook book = new TransformBook(new SessionSecrets(secrets), headers, secrets, random);
        Networks networks = new Networks(
                provider.name(),
                provider.capabilities(),
                book,
                config.features().outbound().ranges());
        networks.requireSupported(sessions.spec().network());
        SessionPolicies policies =
                new SessionPolicies(sessions, database, book, running, meters, InstantSource.system());
        Outbound outbound = Outbound.open(
                config.features().outbound(), config.data().resolve("egress"), provider, sessions, policies, book);
        Map<String, AgentRuntime> runtimes = runtimes(config.features().agents());
        requireRuntime(config, runtimes);
        AgentChoices choices =
                new AgentChoices(config.features().agents(), runtimes, sessions, secrets, networks, database);
        Runs runs = Runs.open(
                config.features().agents().runs(),
                sessions,
                database,
                artifacts,
                runtimes,
                choices,
                new AgentPermissions(sessions, approvals),
                meters);
        Talk talk = Talk.open(
                config.features().channels(), approvals, runs, choices, sessions, artifacts, jobs, database, random);
        Uploads uploads = new Uploads(sessions);
        PromptApi prompts = new PromptApi(
                sessions,
                runs,
                choices,
                uploads,
                config.tools(),
                config.server().heartbeat());
        TemplateOwners owners = new TemplateOwners(database);
        Map<String, Endpoint> endpoints = new HashMap<>();
        endpoints.putAll(new ServerApi(database, provider, meters, contract).endpoints());
        endpoints.putAll(new SessionApi(sessions, artifacts, networks, owners).endpoints());
        endpoints.putAll(new CheckpointApi(sessions).endpoints());
        endpoints.putAll(events.endpoints());
        endpoints.putAll(terminalApi.endpoints());
        endpoints.putAll(new PreviewApi(sessions).endpoints());
        endpoints.putAll(new SandboxApi(calls, runner, interpreter, outputs, jobApi, config.tools()).endpoints());
        endpoints.putAll(new FileApi(calls).endpoints());
        endpoints.putAll(new ArtifactApi(artifacts, sessions).endpoints());
        endpoints.putAll(new UploadApi(calls, uploads).endpoints());
        endpoints.putAll(
                new ToolApi(calls, runner, configs, skills, jobApi, contract, owners, config.tools()).endpoints());
        endpoints.putAll(new ConfigApi(configs, sessions, contract, provider.name(), networks).endpoints());
        endpoints.putAll(new SkillApi(skills).endpoints());
        endpoints.putAll(jobApi.endpoints());
        endpoints.putAll(prompts.endpoints());
        endpoints.putAll(talk.doors().endpoints());
        endpoints.putAll(new AgentApi(choices, sessions, networks, runtimes.keySet()).endpoints());
        endpoints.putAll(new WebhookApi(webhooks).endpoints());
        endpoints.putAll(new KeyApi(keys).endpoints());
        endpoints.putAll(new TenantApi(sessions).endpoints());
        endpoints.putAll(new SecretApi(secrets, () -> {
                    sealer.keys(config.sealingKeys().get());
                    return resealing.run();
                })
                .endpoints());
        contract.operations().stream()
                .filter(Operation::streams)
                .forEach(operation -> endpoints.compute(
                        operation.id(), (id, endpoint) -> approvals.around(id, Objects.requireNonNull(endpoint))));
        endpoints.computeIfPresent("callTool", (_, endpoint) -> ToolApi.tellDenials(endpoint));
        endpoints.putAll(new ApprovalApi(approvals).endpoints());
        Idempotency idempotency = new Idempotency(database, sealer);
        contract.operations().stream()
                .filter(Operation::creates)
                .forEach(operation ->
                        endpoints.computeIfPresent(operation.id(), (_, endpoint) -> idempotency.around(endpoint)));
        endpoints.computeIfPresent("prompt", (_, say) -> prompts.told(say));
        McpTransport mcp = new McpTransport();
        mcp.setSessionFactory(new McpApi(endpoints, contract, new ArtifactResources(artifacts)).sessions());
        endpoints.putAll(mcp.endpoints());
        Gauge.builder("berth.mcp.sessions", mcp, McpTransport::count).register(meters);
        Authenticator own = Authenticator.firstOf(new AdminKey(config.adminKey()), keys);
        Authenticator who = config.oidc()
                .<Authenticator>map(issuer -> Authenticator.firstOf(own, new OidcTokens(issuer)))
                .orElse(own);
        Map<String, SocketEndpoint> sockets = new HashMap<>(events.sockets());
        sockets.putAll(terminalApi.sockets());
        RateLimits rates = new RateLimits(config.requestsPerSecond(), config.requestBurst());
        Admission admission = new Admission(who, rates);
        PreviewHandler previews = new PreviewHandler(sessions, admission, contract, meters);
        Optional<E2bSurface> e2b = config.features()
                .e2b()
                .map(served -> E2bSurface.open(
                        served,
                        config,
                        sessions,
                        admission,
                        provider.templates(),
                        database,
                        new Egress(
                                networks, provider.capabilities(), served.internet(), new Transforms(headers, secrets)),
                        secrets,
                        new VolumeBook(database, provider),
                        previews,
                        meters));
        HttpServer server = HttpServer.start(
                e2b.isPresent() ? config.server().forE2b() : config.server(),
                contract,
                endpoints,
                sockets,
                admission,
                e2b.map(E2bSurface::handler).orElse(previews),
                e2b.map(it -> it.names().port()),
                meters);
        outbound.listening(Stream.concat(
                        Stream.of(server.port()),
                        e2b.stream().map(it -> it.names().port().port()))
                .toList());
        ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("gateway").factory());
        var _ = housekeeping.scheduleWithFixedDelay(outputs::sweep, 1, 10, TimeUnit.MINUTES);
        every(housekeeping, Duration.ofSeconds(5), "approvals", approvals::sweep);
        every(housekeeping, Duration.ofSeconds(5), "idempotency", idempotency::sweep);
        every(housekeeping, Duration.ofSeconds(2), "the way out", outbound::sweep);
        every(housekeeping, Duration.ofSeconds(5), "uses of secrets", secrets::writeUses);
        every(housekeeping, Duration.ofMinutes(10), "MCP sessions", mcp::sweep);
        every(housekeeping, Duration.ofMinutes(10), "artifacts", artifacts::sweep);
        every(housekeeping, Duration.ofHours(6), "content of artifacts", artifacts::sweepContent);
        e2b.ifPresent(it -> every(housekeeping, Duration.ofMinutes(10), "templates", it::sweep));
        e2b.ifPresent(it -> every(
                housekeeping,
                Duration.ofDays(1),
                "the certificate of names",
                it.names().port()::renew));
        Thread resealer = Thread.ofVirtual().name("reseal").start(() -> reseal(resealing));
        return new Gateway(
                server,
                sessions,
                terminals,
                previews,
                e2b,
                keys,
                mcp,
                jobs,
                runs,
                talk,
                sealer,
                webhooks,
                secrets,
                outbound,
                resealer,
                housekeeping);
    }

    /** All kinds of agents there are, by their names. */
    private static Map<String, AgentRuntime> runtimes(AgentsConfig config) {
        List<AgentRuntime> coding = List.of(new PiRuntime(), AcpRuntime.opencode(), new SandboxAgentRuntime());
        Stream<AgentRuntime> chat = config.chat().stream()
                .map(it -> new ModelConfig(it.url(), it.model(), it::key, ModelConfig.Patience.DEFAULT))
                .map(model -> new ChatRuntime(new PiRuntime(), new ModelClient(model), ChatConfig.DEFAULT));
        return Stream.concat(coding.stream(), chat).collect(Collectors.toUnmodifiableMap(AgentRuntime::name, it -> it));
    }

    private static void requireRuntime(GatewayConfig config, Map<String, AgentRuntime> runtimes) {
        String name = config.features().agents().runtime();
        if (!runtimes.containsKey(name)) {
            throw SandboxException.invalid("agent.runtime: there is no runtime '" + name + "'; there are "
                    + String.join(", ", new TreeSet<>(runtimes.keySet())));
        }
    }

    private static List<SealedColumn> sealed(List<SealedColumn> byOthers) {
        return Stream.of(
                        byOthers,
                        List.of(SandboxConfigs.SEALED, Webhooks.SEALED, Idempotency.SEALED, TransformTable.SEALED),
                        Approvals.SEALED,
                        Secrets.SEALED)
                .flatMap(List::stream)
                .toList();
    }

    /** What an older key has sealed, at every start. Until it is done, and if it fails, that key still opens it. */
    private static void reseal(Resealing resealing) {
        try {
            var _ = resealing.run();
        } catch (RuntimeException e) {
            LOG.atWarn().setCause(e).log("reseal.failed");
        }
    }

    /** A task that fails is tried again the next time, as the database may be away for a while. */
    private static void every(ScheduledExecutorService housekeeping, Duration pause, String what, Runnable task) {
        var _ = housekeeping.scheduleWithFixedDelay(
                () -> {
                    try {
                        task.run();
                    } catch (RuntimeException e) {
                        LOG.atWarn().addKeyValue("what", what).setCause(e).log("sweep.failed");
                    }
                },
                0,
                pause.toSeconds(),
                TimeUnit.SECONDS);
    }

    public int port() {
        return server.port();
    }

    /** What names of ports of E2B's sandboxes end with, if E2B's clients are served. */
    public Optional<String> domain() {
        return e2b.map(it -> it.names().domain());
    }

    public ApiKeys keys() {
        return keys;
    }

    /** What sessions may use on their way out. */
    public Secrets secrets() {
        return secrets;
    }

    /** Where people talk to agents. */
    public Talk talk() {
        return talk;
    }

    /** By which channels keep their tokens. */
    public Sealer sealer() {
        return sealer;
    }

    @Override
    public void close() {
        sessions.signals().close(); // or the server would wait for those who only watch
        mcp.close();
        previews.close();
        e2b.ifPresent(E2bSurface::close);
        server.close();
        terminals.close();
        housekeeping.shutdownNow();
        talk.close();
        runs.close();
        jobs.close();
        webhooks.close();
        outbound.close();
        endSecrets();
    }

    private void endSecrets() {
        resealer.interrupt();
        try {
            resealer.join();
            secrets.writeUses();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (SandboxException e) {
            LOG.atWarn().addKeyValue("error", e.getMessage()).log("secrets.uses.lost");
        }
    }
}
