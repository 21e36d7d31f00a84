package dev.berth.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.config.Sealer;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.server.Handler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A request that takes long, and those who repeat it meanwhile. */
@Timeout(300)
class IdempotencyLeaseTest {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private final AtomicInteger runs = new AtomicInteger();

    private Answer slow(Exchange exchange) throws InterruptedException {
        int run = runs.incrementAndGet();
        arrived.countDown();
        mayGoOn.await();
        return Answer.created(Map.of("run", run));
    }

    private HttpServer start(Idempotency idempotency) {
        Contract contract = Contract.load();
        Map<String, Endpoint> endpoints = new HashMap<>();
        Map<String, SocketEndpoint> sockets = new HashMap<>();
        for (Contract.Operation operation : contract.routes()) {
            endpoints.put(operation.id(), _ -> Answer.done());
            sockets.put(operation.id(), _ -> {
                throw new IllegalStateException("nobody asks for a WebSocket here");
            });
        }
        endpoints.put("makeKey", idempotency.around(this::slow));
        return HttpServer.start(
                ServerConfig.onLoopback(0),
                contract,
                endpoints,
                sockets,
                new Admission(_ -> Optional.of(new Caller("test", "acme", false, Scope.ALL)), new RateLimits(0, 0)),
                new Handler.Wrapper(),
                Optional.empty(),
                new SimpleMeterRegistry());
    }

    @Test
    void whatStillRunsIsNotTakenOverHoweverLongItTakes() throws Exception {
        try (TestingDatabase postgres = TestingDatabase.create();
                Database database = Database.open(DatabaseConfig.parse(postgres.url()))) {
            Idempotency idempotency = new Idempotency(database, new Sealer(new byte[32]));
            try (HttpServer server = start(idempotency);
                    HttpClient client = HttpClient.newHttpClient()) {
                HttpRequest request = HttpRequest.newBuilder(
                                URI.create("http://127.0.0.1:" + server.port() + "/v1/keys"))
                        .header("Authorization", "Bearer any")
                        .header("Content-Type", "application/json")
                        .header("Idempotency-Key", "slow")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"name\":\"x\"}"))
                        .build();
                CompletableFuture<HttpResponse<String>> first =
                        client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
                try {
                    assertThat(arrived.await(60, TimeUnit.SECONDS)).isTrue();
                    assertThat(database.<Integer>query(handle -> handle.createUpdate(
                                            "UPDATE idempotency_keys SET running_until = now() - interval '1 second'")
                                    .execute()))
                            .isOne();
                    idempotency.sweep();
                    HttpResponse<String> second = client.send(request, HttpResponse.BodyHandlers.ofString());
                    assertThat(second.statusCode()).as(second.body()).isEqualTo(409);
                } finally {
                    mayGoOn.countDown();
                }
                assertThat(first.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
                HttpResponse<String> third = client.send(request, HttpResponse.BodyHandlers.ofString());
                assertThat(third.body()).isEqualTo(first.get().body());
                assertThat(runs).hasValue(1);
            }
        }
    }
}
