package dev.berth.gateway;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.IdlePolicy;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.TenantLimits;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The whole server on a free port, with a machine and a database of its own. Needs root and crun. */
public final class TestingBerth implements AutoCloseable {
    public static final String ADMIN = "berth_the-operators-own-key";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);
    private final TestingDatabase postgres = TestingDatabase.create();
    private final Database database = Database.open(DatabaseConfig.parse(postgres.url()));
    private final PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final GatewayConfig config;
    private final UnaryOperator<SessionsConfig> lookedAfter;
    private Sessions sessions;
    private Gateway gateway;
    private final HttpClient client = HttpClient.newHttpClient();
    private final AnswerCheck contract = new AnswerCheck(Contract.load());

    public TestingBerth() {
        this(config -> config);
    }

    public TestingBerth(UnaryOperator<GatewayConfig> changes) {
        this(changes, config -> config);
    }

    /** @param lookedAfter how sessions are looked after */
    public TestingBerth(UnaryOperator<GatewayConfig> changes, UnaryOperator<SessionsConfig> lookedAfter) {
        this.lookedAfter = lookedAfter;
        config = changes.apply(GatewayConfig.of(ServerConfig.onLoopback(0), machine.data(), ADMIN, new byte[32])
                .withWebhooks(WebhooksConfig.DEFAULT
                        .withPrivateAddresses(true)
                        .withRetries(Duration.ofMillis(50), Duration.ofHours(24)))
                .withE2b(Optional.of(E2bConfig.of("of these tests".getBytes(StandardCharsets.UTF_8)))));
        sessions = openSessions();
        gateway = openGateway();
    }

    private Sessions openSessions() {
        return Sessions.open(
                lookedAfter.apply(SessionsConfig.of(machine.data().resolve("spool"))
                        .withSpec(SessionSpec.DEFAULT.withTemplate("host").withIdle(IdlePolicy.NEVER))),
                machine.provider(),
                database,
                DirectoryArchives.open(machine.data().resolve("archives")),
                meters,
                "secret".getBytes(StandardCharsets.UTF_8),
                _ -> Optional.empty());
    }

    private Gateway openGateway() {
        return Gateway.start(config, sessions, machine.provider(), database, meters);
    }

    /** Stops the server and starts another on the same machine and database; it has another port. */
    public void restart() {
        gateway.close();
        sessions.close();
        sessions = openSessions();
        gateway = openGateway();
    }

    public Sessions sessions() {
        return sessions;
    }

    public TestMachine machine() {
        return machine;
    }

    public Database database() {
        return database;
    }

    public String url() {
        return "http://127.0.0.1:" + gateway.port();
    }

    /** What names of ports end with. */
    public String domain() {
        return gateway.domain().orElseThrow();
    }

    /** A tenant with a key that may do everything. */
    public String tenant(String name) {
        sessions.tenant(name, TenantLimits.DEFAULT);
        return gateway.keys().make(name, "test", Scope.ALL, Optional.empty()).key();
    }

    /** A key of a tenant that is there. */
    public String key(String tenant, Set<Scope> scopes) {
        return gateway.keys().make(tenant, "test", scopes, Optional.empty()).key();
    }

    /** What came back. */
    public record Reply(int status, String body, HttpResponse<String> response) {
        public JsonNode json() {
            return JSON.readTree(body);
        }

        public String header(String name) {
            return response.headers().firstValue(name).orElse("");
        }
    }

    public Reply get(String key, String path) {
        return send(key, "GET", path, "");
    }

    public Reply delete(String key, String path) {
        return send(key, "DELETE", path, "");
    }

    public Reply post(String key, String path, String json) {
        return send(key, "POST", path, json);
    }

    public Reply send(String key, String method, String path, String json) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url() + path))
                .method(
                        method,
                        json.isEmpty()
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(json));
        if (!json.isEmpty()) {
            request.header("Content-Type", "application/json");
        }
        if (!key.isEmpty()) {
            request.header("Authorization", "Bearer " + key);
        }
        return send(request.build());
    }

    /** Asks, and fails if the answer is not one that the contract has for the operation. */
    public Reply send(HttpRequest request) {
        try {
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            contract.check(
                    request.method(),
                    request.uri().getRawPath(),
                    response.statusCode(),
                    response.headers().firstValue("Content-Type").orElse(""),
                    response.body());
            return new Reply(response.statusCode(), response.body(), response);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** A stream of events, read as they come. */
    public EventReader events(String key, String path, Map<String, String> headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url() + path));
        headers.forEach(request::header);
        return events(key, request);
    }

    /** A call whose events are read as they come. */
    public EventReader stream(String key, String path, String json) {
        return events(
                key,
                HttpRequest.newBuilder(URI.create(url() + path))
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(json)));
    }

    private EventReader events(String key, HttpRequest.Builder request) {
        request.header("Authorization", "Bearer " + key).header("Accept", "text/event-stream");
        try {
            HttpResponse<InputStream> response =
                    client.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            if (response.statusCode() != 200) {
                throw new AssertionError(new String(response.body().readAllBytes(), StandardCharsets.UTF_8));
            }
            return new EventReader(response.body());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        client.close();
        gateway.close();
        sessions.close();
        database.close();
        postgres.close();
        try {
            machine.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
