package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.e2b.E2bClient.Reply;
import dev.berth.sandbox.Command;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import java.net.http.HttpRequest;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Volumes as E2B's clients keep and mount them, over HTTP. Needs root and crun. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class E2bVolumeTest {
    private static TestingBerth berth;
    private static E2bClient acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = E2bClient.of(berth.url(), berth.tenant("acme"));
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static Reply make(String name) {
        return acme.post("/volumes", "{\"name\": \"" + name + "\"}");
    }

    private static String id(Reply made) {
        return made.json().path("volumeID").asString();
    }

    private static E2bClient content(Reply made) {
        return acme.bearing(made.json().path("token").asString());
    }

    private static Reply put(E2bClient content, String path, String text) {
        return content.send("PUT", path, HttpRequest.BodyPublishers.ofString(text));
    }

    @Test
    void oneThatIsBeingRemovedIsNotMadeAgainByWhoLooksIntoIt() throws Exception {
        Reply made = make("vanishing");
        CountDownLatch hidden = new CountDownLatch(1);
        CountDownLatch removed = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Integer> removing = threads.submit(() -> berth.database().transaction(handle -> {
                int rows = handle.createUpdate("UPDATE volumes SET deleted_at = now() WHERE id = :id")
                        .bind("id", id(made))
                        .execute();
                hidden.countDown();
                awaitUninterruptibly(removed);
                return rows;
            }));
            assertThat(hidden.await(20, TimeUnit.SECONDS)).isTrue();
            Future<Reply> looking =
                    threads.submit(() -> content(made).get("/volumecontent/" + id(made) + "/dir?path=/"));
            assertThatThrownBy(() -> looking.get(500, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            removed.countDown();
            assertThat(removing.get()).isEqualTo(1);
            assertThat(looking.get().status()).isEqualTo(404);
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void volumesAreMadeListedAndRemovedByTheirTenantAlone() {
        Reply made = make("first");
        assertThat(made.status()).isEqualTo(201);
        assertThat(made.json().path("token").asString()).hasSize(64);
        // Without it clients send the token to E2B.
        assertThat(made.json().path("domain").asString()).startsWith(E2bConfig.DOMAIN);
        assertThat(acme.get("/volumes/" + id(made)).json()).isEqualTo(made.json());
        assertThat(acme.get("/volumes").body()).contains(id(made)).doesNotContain("token");
        assertThat(make("first").status()).isEqualTo(409);
        assertThat(make("no/name").status()).isEqualTo(400);
        assertThat(acme.post("/volumes", "{}").status()).isEqualTo(400);

        E2bClient rival = E2bClient.of(berth.url(), berth.tenant("rival"));
        assertThat(rival.get("/volumes/" + id(made)).status()).isEqualTo(404);
        assertThat(rival.delete("/volumes/" + id(made)).status()).isEqualTo(404);
        assertThat(rival.get("/volumes").json().isEmpty()).isTrue();

        assertThat(acme.delete("/volumes/" + id(made)).status()).isEqualTo(204);
        assertThat(acme.delete("/volumes/" + id(made)).status()).isEqualTo(404);
        assertThat(content(made)
                        .get("/volumecontent/" + id(made) + "/dir?path=/")
                        .status())
                .isEqualTo(404);
        assertThat(berth.machine().provider().volumes().list()).doesNotContain(id(made));
        assertThat(make("first").status()).isEqualTo(201);
    }

    @Test
    void whatIsInAVolumeIsReadAndWrittenWithItsTokenAlone() {
        Reply made = make("content");
        String base = "/volumecontent/" + id(made);
        E2bClient content = content(made);
        assertThat(acme.get(base + "/dir?path=/").status())
                .as("a key is no token")
                .isEqualTo(401);
        assertThat(content(make("other")).get(base + "/dir?path=/").status()).isEqualTo(401);

        Reply directory = content.post(base + "/dir?path=/a/b&uid=1000&gid=1001&mode=448", "");
        assertThat(directory.status()).isEqualTo(404);
        directory = content.post(base + "/dir?path=/a/b&uid=1000&gid=1001&mode=448&force=true", "");
        assertThat(directory.status()).isEqualTo(201);
        assertThat(directory.json().path("mode").asInt()).isEqualTo(0700);
        assertThat(directory.json().path("uid").asInt()).isEqualTo(1000);
        assertThat(directory.json().path("gid").asInt()).isEqualTo(1001);
        assertThat(content.post(base + "/dir?path=/a/b", "").status()).isEqualTo(409);
        assertThat(content.post(base + "/dir?path=/a/b&force=true", "").status())
                .isEqualTo(201);

        Reply file = put(content, base + "/file?path=/a/b/c.txt", "hello");
        assertThat(file.status()).isEqualTo(201);
        assertThat(file.json().path("path").asString()).isEqualTo("/a/b/c.txt");
        assertThat(file.json().path("type").asString()).isEqualTo("file");
        assertThat(file.json().path("size").asInt()).isEqualTo(5);
        assertThat(file.json().path("mode").asInt()).isEqualTo(0644);
        assertThat(put(content, base + "/file?path=/a/b/c.txt", "other").status())
                .isEqualTo(409);
        assertThat(put(content, base + "/file?path=/a/b/c.txt&force=true", "more")
                        .status())
                .isEqualTo(201);
        assertThat(put(content, base + "/file?path=/no/c.txt", "x").status()).isEqualTo(404);
        assertThat(put(content, base + "/file?path=/a/b&force=true", "x").status())
                .isEqualTo(409);
        assertThat(put(content, base + "/file?path=/empty", "").status()).isEqualTo(201);
        Reply empty = content.get(base + "/file?path=/empty");
        assertThat(empty.header("Content-Length")).isEqualTo("0");
        assertThat(content.get(base + "/file?path=/a/b/c.txt").body()).isEqualTo("more");
        assertThat(content.get(base + "/file?path=/a").status()).isEqualTo(404);
        assertThat(content.get(base + "/file?path=/../../../etc/passwd").status())
                .isEqualTo(404);

        assertThat(content.get(base + "/dir?path=/").json().size()).isEqualTo(2);
        assertThat(content.get(base + "/dir?path=/&depth=3").json().size()).isEqualTo(4);
        assertThat(content.get(base + "/dir?path=/empty").status()).isEqualTo(404);
        assertThat(content.get(base + "/dir?path=/no").status()).isEqualTo(404);
        Reply changed = content.send("PATCH", base + "/path?path=/a/b/c.txt", "{\"mode\": 384, \"uid\": 7}");
        assertThat(changed.status()).isEqualTo(200);
        assertThat(changed.json().path("mode").asInt()).isEqualTo(0600);
        assertThat(changed.json().path("uid").asInt()).isEqualTo(7);
        assertThat(changed.json().path("mtime").asString()).contains("T");
        assertThat(content.send("PATCH", base + "/path?path=/a/b/c.txt", "{\"mode\": -1}")
                        .status())
                .isEqualTo(400);
        assertThat(content.send("PATCH", base + "/path?path=/no", "{\"mode\": 1}")
                        .status())
                .isEqualTo(404);
        assertThat(content.delete(base + "/path?path=/").status()).isEqualTo(404);
        assertThat(content.delete(base + "/path?path=/a").status()).isEqualTo(204);
        assertThat(content.get(base + "/path?path=/a").status()).isEqualTo(404);
        assertThat(content.get(base + "/path?path=/a").json().path("code").asInt())
                .isEqualTo(404);
    }

    @Test
    void aVolumeKeepsWhatOneSandboxWroteForAnother() {
        Reply made = make("shared");
        String body = "{\"templateID\": \"host\", \"allow_internet_access\": false,"
                + " \"volumeMounts\": [{\"name\": \"shared\", \"path\": \"/mnt/data\"}]}";
        Reply writer = acme.post("/v2/sandboxes", body);
        assertThat(writer.status()).as(writer.body()).isEqualTo(201);
        String id = writer.json().path("sandboxID").asString();
        assertThat(acme.get("/sandboxes/" + id)
                        .json()
                        .path("volumeMounts")
                        .path(0)
                        .toString())
                .contains("\"shared\"", "\"/mnt/data\"");
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", id))) {
            assertThat(session.sandbox()
                            .run(Command.shell("echo written > /mnt/data/x && cat /mnt/data/x"))
                            .stdout())
                    .isEqualTo("written\n");
        }
        assertThat(content(made)
                        .get("/volumecontent/" + id(made) + "/file?path=x")
                        .body())
                .isEqualTo("written\n");
        assertThat(acme.delete("/volumes/" + id(made)).status()).isEqualTo(409);
        assertThat(acme.delete("/sandboxes/" + id).status()).isEqualTo(204);

        String reader =
                acme.post("/v2/sandboxes", body).json().path("sandboxID").asString();
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", reader))) {
            assertThat(session.sandbox().run(Command.shell("cat /mnt/data/x")).stdout())
                    .isEqualTo("written\n");
        }
        assertThat(acme.delete("/sandboxes/" + reader).status()).isEqualTo(204);
        assertThat(acme.delete("/volumes/" + id(made)).status()).isEqualTo(204);

        assertThat(acme.post("/v2/sandboxes", body).status())
                .as("no such volume")
                .isEqualTo(400);
        make("again");
        for (String path : new String[] {"/", "/proc", "data", "/a/../b", ""}) {
            assertThat(acme.post(
                                    "/v2/sandboxes",
                                    body.replace("shared", "again").replace("/mnt/data", path))
                            .status())
                    .as(path)
                    .isEqualTo(400);
        }
        assertThat(acme.post("/v2/sandboxes", "{\"templateID\": \"host\", \"volumeMounts\": 7}")
                        .status())
                .isEqualTo(400);
    }

    @Test
    void whatIsNotOfferedIsRefusedWithASentence() {
        for (String more : new String[] {
            "\"iam\": {\"tokens\": {\"aws\": {\"audience\": \"a\", \"tokenType\": \"JWT-SVID\"}}}",
            "\"mcp\": {\"exa\": {}}",
            "\"network\": {\"egressProxy\": {\"address\": \"a:1\"}}",
            "\"network\": []",
        }) {
            Reply refused = acme.post("/v2/sandboxes", "{\"templateID\": \"host\", " + more + "}");
            assertThat(refused.status()).as(more).isEqualTo(400);
            assertThat(refused.json().path("message").asString()).isNotEmpty();
        }
    }
}
