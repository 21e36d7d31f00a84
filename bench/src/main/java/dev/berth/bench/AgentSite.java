package dev.berth.bench;

import dev.berth.gateway.GatewayConfig;
import dev.berth.gateway.agent.AgentsConfig;
import dev.berth.gateway.agent.ModelChoice;
import dev.berth.gateway.egress.OutboundConfig;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.Signal;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The API with agents in sessions of their own, and a stand-in for their model outside of the sandboxes, which they reach
 * through the proxy of their way out.
 */
final class AgentSite implements AutoCloseable {
    static final String TEMPLATE = "agent";
    /** The moment at which whoever wrote a message sees that something is done about it. */
    static final String STATUS = "first status";
    /** The moment at which they read the first words of the answer. */
    static final String TEXT = "first text";

    private static final String HOST = "model.bench";
    private static final String PROVIDER = "bench";
    private static final String MODEL = "stand-in";
    private static final String ASK_STATE = "{\"type\":\"get_state\"}\n";
    private static final String STATE = "\"get_state\"";

    private final Deque<Closeable> open = new ArrayDeque<>();
    private final String model;
    private final SessionSite sessions;
    private final HttpSite http;
    private int names;

    private AgentSite(Rig rig) throws IOException {
        try {
            ModelStandIn standIn = new ModelStandIn();
            open.push(standIn::close);
            LoopbackNames dns = new LoopbackNames();
            open.push(dns::close);
            model = "http://" + HOST + ":" + standIn.port() + "/v1";
            sessions = rig.openSessions();
            open.push(sessions::close);
            http = HttpSite.open(sessions, config -> with(config, dns, standIn.port()));
            open.push(http::close);
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    static AgentSite open(Rig rig) throws IOException {
        return new AgentSite(rig);
    }

    private GatewayConfig with(GatewayConfig config, LoopbackNames dns, int port) {
        ModelChoice choice =
                new ModelChoice(PROVIDER, MODEL, Optional.of(model), ModelChoice.PROTOCOL, Optional.empty());
        return config.withOutbound(OutboundConfig.DEFAULT.withDns(dns.address()))
                .withAgents(AgentsConfig.DEFAULT
                        .withTemplate(TEMPLATE)
                        .withModel(choice)
                        .withAllowed(List.of(Rule.to("127.0.0.1").withPorts(port))));
    }

    /** A session that is not there before its first message. */
    SessionKey newSession() {
        names++;
        return SessionKey.of(SessionKey.DEFAULT_TENANT, "agent-" + names);
    }

    /** Says something to a session's agent and waits until it has answered. */
    Map<String, Long> say(SessionKey session) throws IOException {
        EventClock events = http.prompt(session);
        return Map.of(STATUS, events.nanosTo("status"), TEXT, events.nanosTo("text"));
    }

    void pause(SessionKey session) {
        sessions.sessions().pause(session);
        SessionState state = sessions.sessions().find(session).orElseThrow().state();
        if (state != SessionState.PAUSED) {
            throw new IllegalStateException("the session of an idle agent could not be paused; it is " + state);
        }
    }

    void delete(SessionKey session) {
        sessions.sessions().delete(session);
    }

    long memoryBytes(SessionKey session) {
        try (Session up = sessions.sessions().resolve(session)) {
            return up.sandbox().usage().memoryBytes();
        }
    }

    /** What the program of the agent takes to answer for the first time, beside the agent that a session has already. */
    long startAlone(SessionKey session) throws IOException {
        try (Session up = sessions.sessions().resolve(session)) {
            Sandbox sandbox = up.sandbox();
            Command pi = Command.of(
                            "pi",
                            "--mode",
                            "rpc",
                            "--no-session",
                            "--provider",
                            PROVIDER,
                            "--model",
                            MODEL,
                            "--offline")
                    .withStdin()
                    .withEnv(Map.of(
                            "PI_CODING_AGENT_DIR",
                            sandbox.files().named(".pi/agent"),
                            "PI_OFFLINE",
                            "1",
                            "PI_TELEMETRY",
                            "0"));
            long start = System.nanoTime();
            RunningCommand running = sandbox.start(pi);
            try {
                running.stdin().write(ASK_STATE.getBytes(StandardCharsets.US_ASCII));
                running.stdin().flush();
                awaitState(running);
                return System.nanoTime() - start;
            } finally {
                running.signal(Signal.KILL);
                running.await();
                running.close();
            }
        }
    }

    private static void awaitState(RunningCommand pi) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(pi.stdout(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.contains(STATE)) {
                return;
            }
        }
        throw new IllegalStateException(
                "pi ended before it answered: " + new String(pi.stderr().readAllBytes(), StandardCharsets.UTF_8));
    }

    /** What one request to the model takes from within a session, by a program that does nothing else. */
    long askModel(SessionKey session) {
        try (Session up = sessions.sessions().resolve(session)) {
            Command curl = Command.of(
                    "curl", "--silent", "--show-error", "--fail", "--data", "{}", model + "/chat/completions");
            long start = System.nanoTime();
            Result result = up.sandbox().run(curl);
            long nanos = System.nanoTime() - start;
            if (!result.stdout().contains(ModelStandIn.TEXT)) {
                throw new IllegalStateException(
                        "the model did not answer a program in a sandbox: " + result.stdout() + result.stderr());
            }
            return nanos;
        }
    }

    @Override
    public void close() throws IOException {
        IOException failure = null;
        while (!open.isEmpty()) {
            try {
                open.pop().close();
            } catch (IOException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
