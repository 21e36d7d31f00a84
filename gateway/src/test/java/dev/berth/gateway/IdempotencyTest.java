package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.TenantLimits;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that are repeated make nothing twice. Needs root and crun. */
@Timeout(300)
class IdempotencyTest {
    private static TestingBerth berth;
    private String tenant;
    private String acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @BeforeEach
    void aTenant() {
        tenant = "t" + UUID.randomUUID();
        acme = berth.tenant(tenant);
    }

    private static Reply post(String key, String path, String name, String json) {
        return berth.send(HttpRequest.newBuilder(URI.create(berth.url() + path))
                .POST(HttpRequest.BodyPublishers.ofString(json))
                .header("Content-Type", "application/json")
                .header("Authorization", "Bearer " + key)
                .header("Idempotency-Key", name)
                .build());
    }

    private static boolean replayed(Reply reply) {
        return reply.header("Idempotency-Replayed").equals("true");
    }

    private long keys(String name) {
        return StreamSupport.stream(
                        berth.get(acme, "/v1/keys").json().path("keys").spliterator(), false)
                .filter(key -> key.path("name").asString().equals(name))
                .count();
    }

    private static void sql(String statement) {
        assertThat(berth.database()
                        .<Integer>query(handle -> handle.createUpdate(statement).execute()))
                .isEqualTo(1);
    }

    @Test
    void theSameRequestGetsTheSameAnswerAndMakesNothingTwice() {
        Reply first = post(acme, "/v1/keys", "one", "{\"name\":\"ci\",\"expires_in_seconds\":3600}");
        assertThat(first.status()).as(first.body()).isEqualTo(201);
        assertThat(replayed(first)).isFalse();
        Reply again = post(acme, "/v1/keys", "one", "{ \"expires_in_seconds\":3600, \"name\":\"ci\" }");
        assertThat(again.status()).isEqualTo(201);
        assertThat(again.body()).isEqualTo(first.body());
        assertThat(replayed(again)).isTrue();
        assertThat(keys("ci")).isOne();
        assertThat(post(acme, "/v1/keys", "two", "{\"name\":\"ci\"}").status()).isEqualTo(201);
        assertThat(keys("ci")).isEqualTo(2);
    }

    @Test
    void aSecretInAnAnswerIsNotReadableInTheDatabase() {
        Reply made = post(acme, "/v1/keys", "secret", "{\"name\":\"ci\"}");
        byte[] stored = berth.database()
                .query(handle -> handle.createQuery("SELECT answer FROM idempotency_keys WHERE tenant = :tenant")
                        .bind("tenant", tenant)
                        .mapTo(byte[].class)
                        .one());
        String secret = made.json().path("key").asString();
        assertThat(secret).isNotEmpty();
        assertThat(new String(stored, StandardCharsets.ISO_8859_1)).doesNotContain(secret, "ci");
    }

    @Test
    void fiftyAtOnceMakeOneThing() throws Exception {
        Callable<Reply> request = () -> post(acme, "/v1/keys", "many", "{\"name\":\"one of fifty\"}");
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Reply> replies = threads
                    .invokeAll(Stream.generate(() -> request).limit(50).toList())
                    .stream()
                    .map(Future::resultNow)
                    .toList();
            assertThat(replies).allSatisfy(reply -> assertThat(reply.status()).isIn(201, 409));
            assertThat(replies.stream().filter(reply -> reply.status() == 201 && !replayed(reply)))
                    .as("those that were really run")
                    .hasSize(1);
            assertThat(replies.stream()
                            .filter(reply -> reply.status() == 201)
                            .map(Reply::body)
                            .distinct())
                    .hasSize(1);
            assertThat(replies.stream().filter(reply -> reply.status() == 409))
                    .allSatisfy(reply -> assertThat(reply.body()).contains("still running"));
        }
        assertThat(keys("one of fifty")).isOne();
    }

    @Test
    void anotherRequestWithTheSameKeyIsRefused() {
        post(acme, "/v1/keys", "reused", "{\"name\":\"first\"}");
        for (Reply other : List.of(
                post(acme, "/v1/keys", "reused", "{\"name\":\"second\"}"),
                post(acme, "/v1/sessions", "reused", "{}"),
                post(
                        berth.key(tenant, Set.of(Scope.KEYS)),
                        "/v1/keys",
                        "reused",
                        "{\"name\":\"first\"}"))) { // who may do less must not be given what may do more
            assertThat(other.status()).as(other.body()).isEqualTo(422);
            assertThat(other.json().path("code").asString()).isEqualTo("idempotency_key_reused");
        }
        assertThat(keys("second")).isZero();
    }

    @Test
    void answersOutliveTheServer() {
        Reply first = post(acme, "/v1/sessions", "lasting", "{}");
        assertThat(first.status()).as(first.body()).isEqualTo(201);
        berth.restart();
        Reply again = post(acme, "/v1/sessions", "lasting", "{}");
        assertThat(replayed(again)).isTrue();
        assertThat(again.status()).isEqualTo(201);
        assertThat(again.body()).isEqualTo(first.body());
        assertThat(berth.get(acme, "/v1/sessions").json().path("sessions")).hasSize(1);
    }

    @Test
    void aLimitThatWasReachedIsNoAnswerForEver() {
        berth.sessions()
                .tenant(
                        tenant,
                        new TenantLimits(Optional.of(0), Optional.empty(), Optional.empty(), Optional.empty(), false));
        Reply refused = post(acme, "/v1/sessions", "limited", "{\"session_id\":\"s\"}");
        assertThat(refused.status()).as(refused.body()).isEqualTo(429);
        berth.sessions().tenant(tenant, TenantLimits.DEFAULT);
        Reply retried = post(acme, "/v1/sessions", "limited", "{\"session_id\":\"s\"}");
        assertThat(retried.status()).as(retried.body()).isEqualTo(201);
        assertThat(replayed(retried)).isFalse();
    }

    @Test
    void aRequestThatIsWrongStaysWrong() {
        String config = "/v1/accounts/me/sandboxes";
        assertThat(berth.post(acme, config, "{\"name\":\"taken\"}").status()).isEqualTo(201);
        Reply refused = post(acme, config, "wrong", "{\"name\":\"taken\"}");
        assertThat(refused.status()).as(refused.body()).isEqualTo(409);
        Reply again = post(acme, config, "wrong", "{\"name\":\"taken\"}");
        assertThat(again.body()).isEqualTo(refused.body());
        assertThat(again.header("Content-Type")).isEqualTo(refused.header("Content-Type"));
        assertThat(replayed(again)).isTrue();
    }

    @Test
    void theKeysOfTenantsAndOfTheOperatorHaveNothingToDoWithEachOther() {
        String rival = berth.tenant(tenant + "-rival");
        Reply mine = post(acme, "/v1/keys", "shared", "{\"name\":\"mine\"}");
        Reply theirs = post(rival, "/v1/keys", "shared", "{\"name\":\"mine\"}");
        assertThat(theirs.status()).isEqualTo(201);
        assertThat(replayed(theirs)).isFalse();
        assertThat(theirs.body()).isNotEqualTo(mine.body());
        Reply operator = post(
                TestingBerth.ADMIN, "/v1/admin/tenants/" + tenant + "/keys", "shared" + tenant, "{\"name\":\"mine\"}");
        assertThat(operator.status()).as(operator.body()).isEqualTo(201);
        assertThat(replayed(operator)).isFalse();
    }

    @Test
    void aRequestWhoseServerDiedIsMadeAgainWhenItsLeaseIsOver() {
        post(acme, "/v1/keys", "crashed", "{\"name\":\"crashed\"}");
        sql("UPDATE idempotency_keys SET status = NULL, answer = NULL WHERE tenant = '" + tenant + "'");
        Reply early = post(acme, "/v1/keys", "crashed", "{\"name\":\"crashed\"}");
        assertThat(early.status()).isEqualTo(409);
        assertThat(early.body()).contains("still running");
        sql("UPDATE idempotency_keys SET running_until = now() - interval '1 second' WHERE tenant = '" + tenant + "'");
        assertThat(post(acme, "/v1/keys", "crashed", "{\"name\":\"another\"}").status())
                .isEqualTo(422);
        Reply taken = post(acme, "/v1/keys", "crashed", "{\"name\":\"crashed\"}");
        assertThat(taken.status()).isEqualTo(201);
        assertThat(replayed(taken)).isFalse();
        assertThat(replayed(post(acme, "/v1/keys", "crashed", "{\"name\":\"crashed\"}")))
                .isTrue();
    }

    @Test
    void afterADayAKeyIsAsGoodAsNew() {
        post(acme, "/v1/keys", "old", "{\"name\":\"old\"}");
        sql("UPDATE idempotency_keys SET made_at = now() - interval '25 hours' WHERE tenant = '" + tenant + "'");
        Reply other = post(acme, "/v1/keys", "old", "{\"name\":\"new\"}");
        assertThat(other.status()).isEqualTo(201);
        assertThat(replayed(other)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"with space", ""})
    void aStrangeKeyIsRefused(String name) {
        assertThat(post(acme, "/v1/keys", name, "{\"name\":\"x\"}").status()).isEqualTo(400);
        assertThat(post(acme, "/v1/keys", "x".repeat(256), "{\"name\":\"x\"}").status())
                .isEqualTo(400);
        assertThat(keys("x")).isZero();
    }
}
