package dev.berth.gateway;

import dev.berth.gateway.api.Calls;
import dev.berth.gateway.api.ConfigApi;
import dev.berth.gateway.api.EventApi;
import dev.berth.gateway.api.FileApi;
import dev.berth.gateway.api.KeyApi;
import dev.berth.gateway.api.PreviewApi;
import dev.berth.gateway.api.SandboxApi;
import dev.berth.gateway.api.ServerApi;
import dev.berth.gateway.api.SessionApi;
import dev.berth.gateway.api.SkillApi;
import dev.berth.gateway.api.TenantApi;
import dev.berth.gateway.api.TerminalApi;
import dev.berth.gateway.api.ToolApi;
import dev.berth.gateway.auth.AdminKey;
import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.auth.Authenticator;
import dev.berth.gateway.auth.OidcTokens;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.config.SandboxConfigs;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.Admission;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.HttpServer;
import dev.berth.gateway.http.SocketEndpoint;
import dev.berth.gateway.preview.PreviewHandler;
import dev.berth.gateway.skill.Skills;
import dev.berth.gateway.terminal.Terminals;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import dev.berth.tool.Interpreter;
import dev.berth.tool.OutputStore;
import dev.berth.tool.Runner;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The API, listening. */
public final class Gateway implements AutoCloseable {
    private final HttpServer server;
    private final Sessions sessions;
    private final Terminals terminals;
    private final PreviewHandler previews;
    private final ApiKeys keys;
    private final ScheduledExecutorService housekeeping;

    private Gateway(
            HttpServer server,
            Sessions sessions,
            Terminals terminals,
            PreviewHandler previews,
            ApiKeys keys,
            ScheduledExecutorService housekeeping) {
        this.server = server;
        this.sessions = sessions;
        this.terminals = terminals;
        this.previews = previews;
        this.keys = keys;
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
        SandboxConfigs configs = new SandboxConfigs(database, new Sealer(config.sealingKey()));
        Skills skills = new Skills(database);
        SecureRandom random = new SecureRandom();
        OutputStore outputs =
                OutputStore.open(config.outputs(), OutputStore.Bounds.DEFAULT, InstantSource.system(), random);
        Runner runner = new Runner(outputs, sessions.turns(), random);
        Interpreter interpreter = new Interpreter(outputs, sessions.turns(), random);
        Calls calls = new Calls(sessions);
        EventApi events = new EventApi(sessions);
        Terminals terminals = new Terminals(sessions);
        TerminalApi terminalApi = new TerminalApi(sessions, terminals, contract);
        Map<String, Endpoint> endpoints = new HashMap<>();
        endpoints.putAll(new ServerApi(database, provider, meters, contract).endpoints());
        endpoints.putAll(new SessionApi(sessions).endpoints());
        endpoints.putAll(events.endpoints());
        endpoints.putAll(terminalApi.endpoints());
        endpoints.putAll(new PreviewApi(sessions).endpoints());
        endpoints.putAll(new SandboxApi(calls, runner, interpreter, outputs, config.tools()).endpoints());
        endpoints.putAll(new FileApi(calls).endpoints());
        endpoints.putAll(new ToolApi(calls, runner, configs, skills, contract, config.tools()).endpoints());
        endpoints.putAll(new ConfigApi(configs, sessions, contract, provider.name()).endpoints());
        endpoints.putAll(new SkillApi(skills).endpoints());
        endpoints.putAll(new KeyApi(keys).endpoints());
        endpoints.putAll(new TenantApi(sessions).endpoints());
        Authenticator own = Authenticator.firstOf(new AdminKey(config.adminKey()), keys);
        Authenticator who = config.oidc()
                .<Authenticator>map(issuer -> Authenticator.firstOf(own, new OidcTokens(issuer)))
                .orElse(own);
        Map<String, SocketEndpoint> sockets = new HashMap<>(events.sockets());
        sockets.putAll(terminalApi.sockets());
        RateLimits rates = new RateLimits(config.requestsPerSecond(), config.requestBurst());
        Admission admission = new Admission(who, rates);
        PreviewHandler previews = new PreviewHandler(sessions, admission, contract, meters);
        HttpServer server =
                HttpServer.start(config.server(), contract, endpoints, sockets, admission, previews, meters);
        ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("gateway").factory());
        var _ = housekeeping.scheduleWithFixedDelay(outputs::sweep, 1, 10, TimeUnit.MINUTES);
        return new Gateway(server, sessions, terminals, previews, keys, housekeeping);
    }

    public int port() {
        return server.port();
    }

    public ApiKeys keys() {
        return keys;
    }

    @Override
    public void close() {
        sessions.endFollowers(); // or the server would wait for those who only watch
        previews.close();
        server.close();
        terminals.close();
        housekeeping.shutdownNow();
    }
}
