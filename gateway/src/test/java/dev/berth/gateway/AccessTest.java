package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import java.net.URI;
import java.net.http.HttpRequest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may do what. Needs root and crun. */
class AccessTest {
    private static TestingBerth berth;
    private static String acme;
    private static String rival;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
        rival = berth.tenant("rival");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @Test
    void theServerTellsHowItIsToAnybody() {
        assertThat(berth.get("", "/healthz").json().path("status").asString()).isEqualTo("ok");
        assertThat(berth.get("", "/readyz")
                        .json()
                        .path("checks")
                        .path("database")
                        .asString())
                .isEqualTo("ok");
        assertThat(berth.get("", "/metrics").body()).contains("berth_sessions");
        assertThat(berth.get("", "/openapi.json").json().path("openapi").asString())
                .isEqualTo("3.1.0");
        assertThat(berth.get("", "/docs").body()).contains("/v1/sandbox/sessions");
    }

    @ParameterizedTest
    @CsvSource({"''", "wrong", "berth_000000000000000000000000000000000000000000000000", "Bearer"})
    void withoutAGoodCredentialThereIsNothing(String key) {
        Reply reply = berth.get(key, "/v1/sandbox/sessions");
        assertThat(reply.status()).isEqualTo(401);
        assertThat(reply.header("WWW-Authenticate")).contains("Bearer");
        assertThat(reply.header("Content-Type")).startsWith("application/problem+json");
        assertThat(reply.json().path("code").asString()).isEqualTo("unauthenticated");
    }

    @Test
    void aKeyWorksInEitherHeader() {
        URI sessions = URI.create(berth.url() + "/v1/sandbox/sessions");
        assertThat(berth.send(HttpRequest.newBuilder(sessions)
                                .header("X-API-Key", acme)
                                .build())
                        .status())
                .isEqualTo(200);
        assertThat(berth.send(HttpRequest.newBuilder(sessions)
                                .header("Authorization", "bearer " + acme)
                                .build())
                        .status())
                .isEqualTo(200);
    }

    @Test
    void anotherTenantsSessionLooksLikeOneThatIsNotThere() {
        berth.sessions()
                .resolve(SessionKey.of("acme", "private"), SessionSpec.DEFAULT.withTemplate("host"))
                .close();
        Reply foreign = berth.delete(rival, "/v1/sandbox/sessions/acme/private");
        Reply missing = berth.delete(rival, "/v1/sandbox/sessions/rival/private");
        Reply nowhere = berth.delete(rival, "/v1/sandbox/sessions/no-such-tenant/private");
        for (Reply reply : new Reply[] {foreign, missing, nowhere}) {
            assertThat(reply.status()).isEqualTo(404);
            assertThat(withoutRequest(reply)).isEqualTo(withoutRequest(missing));
        }
        assertThat(berth.get(rival, "/v1/sandbox/sessions").body()).doesNotContain("private");
        assertThat(berth.get(acme, "/v1/sandbox/sessions").body()).contains("private");
        assertThat(berth.get(TestingBerth.ADMIN, "/v1/sandbox/sessions").body()).contains("private");

        assertThat(berth.delete(acme, "/v1/sandbox/sessions/acme/private").status())
                .isEqualTo(204);
        assertThat(berth.delete(acme, "/v1/sandbox/sessions/acme/private").status())
                .isEqualTo(404);
    }

    private static String withoutRequest(Reply reply) {
        return reply.body().replaceAll("\"request_id\":\"[^\"]*\"", "");
    }

    @Test
    void identityHeadersFromOutsideAreIgnored() {
        Reply reply = berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/admin/tenants"))
                .header("Authorization", "Bearer " + acme)
                .header("X-Tenant-ID", "default")
                .header("X-User-Roles", "admin")
                .build());
        assertThat(reply.status()).isEqualTo(403);
    }

    @Test
    void aKeyDoesOnlyWhatItsScopesSay() {
        String narrow = berth.post(acme, "/v1/keys", "{\"name\":\"narrow\",\"scopes\":[\"tools\"]}")
                .json()
                .path("key")
                .asString();
        Reply refused = berth.get(narrow, "/v1/sandbox/sessions");
        assertThat(refused.status()).isEqualTo(403);
        assertThat(refused.json().path("detail").asString()).contains("sessions");
        assertThat(berth.post(narrow, "/v1/keys", "{\"name\":\"more\"}").status())
                .isEqualTo(403);
    }

    @Test
    void aRevokedKeyAndAnExpiredKeyWorkNoMore() throws InterruptedException {
        var made = berth.post(acme, "/v1/keys", "{\"name\":\"short\"}").json();
        String key = made.path("key").asString();
        assertThat(berth.get(key, "/v1/keys").status()).isEqualTo(200);
        assertThat(berth.get(key, "/v1/keys").body()).doesNotContain(key);
        assertThat(berth.delete(
                                rival,
                                "/v1/keys/" + made.path("info").path("id").asString())
                        .status())
                .as("another tenant's key")
                .isEqualTo(404);
        assertThat(berth.delete(acme, "/v1/keys/" + made.path("info").path("id").asString())
                        .status())
                .isEqualTo(204);
        assertThat(berth.get(key, "/v1/keys").status()).isEqualTo(401);

        String brief = berth.post(acme, "/v1/keys", "{\"name\":\"brief\",\"expires_in_seconds\":3}")
                .json()
                .path("key")
                .asString();
        assertThat(berth.get(brief, "/v1/keys").status()).isEqualTo(200);
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (berth.get(brief, "/v1/keys").status() != 401) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            Thread.sleep(50);
        }
    }

    @Test
    void aRotatedKeyLeavesTheOldOneForAWhile() {
        var made = berth.post(acme, "/v1/keys", "{\"name\":\"rotated\"}").json();
        String rotate = "/v1/keys/" + made.path("info").path("id").asString() + "/rotate";
        String next = berth.post(acme, rotate, "{\"overlap_seconds\":100}")
                .json()
                .path("key")
                .asString();
        assertThat(berth.get(made.path("key").asString(), "/v1/keys").status()).isEqualTo(200);
        assertThat(berth.get(next, "/v1/keys").status()).isEqualTo(200);
    }

    @Test
    void aKeyLooksAsE2bsClientsWantItIfItIsAskedFor() {
        var made = berth.post(acme, "/v1/keys", "{\"name\":\"app\",\"form\":\"e2b\"}")
                .json();
        assertThat(made.path("key").asString()).matches("e2b_[0-9a-f]{40}");
        assertThat(berth.get(made.path("key").asString(), "/v1/keys").status()).isEqualTo(200);
        String rotate = "/v1/keys/" + made.path("info").path("id").asString() + "/rotate";
        assertThat(berth.post(acme, rotate, "{\"form\":\"e2b\"}")
                        .json()
                        .path("key")
                        .asString())
                .matches("e2b_[0-9a-f]{40}");
        assertThat(berth.post(acme, "/v1/keys", "{\"name\":\"app\",\"form\":\"other\"}")
                        .status())
                .isEqualTo(400);
        assertThat(berth.post(TestingBerth.ADMIN, "/v1/admin/tenants/acme/keys", "{\"name\":\"a\",\"form\":\"e2b\"}")
                        .json()
                        .path("key")
                        .asString())
                .startsWith("e2b_");
    }

    @Test
    void theOperatorMakesTenantsWithLimitsAndKeys() {
        assertThat(berth.send(TestingBerth.ADMIN, "PUT", "/v1/admin/tenants/fresh", "{\"live\":3}")
                        .json()
                        .path("limits")
                        .path("live")
                        .asInt())
                .isEqualTo(3);
        String key = berth.post(TestingBerth.ADMIN, "/v1/admin/tenants/fresh/keys", "{\"name\":\"first\"}")
                .json()
                .path("key")
                .asString();
        assertThat(berth.get(key, "/v1/sandbox/sessions")
                        .json()
                        .path("sessions")
                        .size())
                .isZero();
        assertThat(berth.get(TestingBerth.ADMIN, "/v1/admin/usage").body()).contains("\"fresh\"");
        assertThat(berth.post(TestingBerth.ADMIN, "/v1/admin/tenants/nobody/keys", "{\"name\":\"x\"}")
                        .status())
                .isEqualTo(404);
        assertThat(berth.get(acme, "/v1/admin/usage").status()).isEqualTo(403);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{                                 | 400",
                "[]                                | 400",
                "{\"name\":1}                      | 400",
                "{\"name\":\"\"}                   | 400",
                "{}                                | 400",
                "{\"name\":\"a\",\"extra\":1}      | 400",
                "{\"name\":\"a\",\"name\":\"b\"}   | 400",
                "{\"name\":\"a\",\"scopes\":[\"everything\"]} | 400",
                "{\"name\":\"a\"} trailing         | 400"
            })
    void aBodyThatIsWrongIsRefusedWithAllThatIsWrong(String body, int status) {
        Reply reply = berth.post(acme, "/v1/keys", body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(status);
        assertThat(reply.json().path("code").asString()).isEqualTo("invalid");
        assertThat(reply.body()).doesNotContain("Exception").doesNotContain("at dev.berth");
    }

    @Test
    void otherWaysOfAskingWronglyHaveAnswersToo() {
        assertThat(berth.send(acme, "PUT", "/v1/keys", "{}").status()).isEqualTo(405);
        assertThat(berth.send(acme, "PUT", "/v1/keys", "{}").header("Allow")).contains("GET");
        assertThat(berth.get(acme, "/v1/nothing").status()).isEqualTo(404);
        assertThat(berth.get(acme, "/v1/nothing").json().path("code").asString())
                .isEqualTo("not_found");
        assertThat(berth.get(acme, "/v1/sandbox/sessions?limit=0").status()).isEqualTo(400);
        assertThat(berth.get(acme, "/v1/sandbox/sessions?limit=x").status()).isEqualTo(400);
        assertThat(berth.get(acme, "/v1/sandbox/sessions?other=1").status()).isEqualTo(400);
        assertThat(berth.get(acme, "/v1/sandbox/sessions?limit=1&limit=2").status())
                .isEqualTo(400);
        assertThat(berth.delete(acme, "/v1/sandbox/sessions/acme/..%2Fx").status())
                .isIn(400, 404);
        HttpRequest plain = HttpRequest.newBuilder(URI.create(berth.url() + "/v1/keys"))
                .header("Authorization", "Bearer " + acme)
                .header("Content-Type", "text/plain")
                .POST(HttpRequest.BodyPublishers.ofString("{}"))
                .build();
        assertThat(berth.send(plain).status()).isEqualTo(415);
        String deep = "{\"name\":" + "[".repeat(1000) + "]".repeat(1000) + "}";
        assertThat(berth.post(acme, "/v1/keys", deep).status()).isEqualTo(400);
        String large = "{\"name\":\"" + "x".repeat(11 << 20) + "\"}";
        assertThat(berth.post(acme, "/v1/keys", large).status()).isEqualTo(413);
    }

    @Test
    void whoAsksTooOftenIsToldWhenToComeBack() {
        try (TestingBerth slow = new TestingBerth(config -> config.withRates(1, 2))) {
            String key = slow.tenant("eager");
            assertThat(slow.get(key, "/v1/keys").status()).isEqualTo(200);
            assertThat(slow.get(key, "/v1/keys").status()).isEqualTo(200);
            Reply refused = slow.get(key, "/v1/keys");
            for (int i = 0; i < 100 && refused.status() == 200; i++) {
                refused = slow.get(key, "/v1/keys"); // the first ones took so long that there is room again
            }
            assertThat(refused.status()).isEqualTo(429);
            assertThat(refused.header("Retry-After")).isEqualTo("1");
            assertThat(slow.get(slow.tenant("patient"), "/v1/keys").status()).isEqualTo(200);
        }
    }
}
