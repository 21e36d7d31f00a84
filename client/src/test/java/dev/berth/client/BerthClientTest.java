package dev.berth.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.SessionKey;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against the whole server. Needs root and crun. */
@Timeout(300)
class BerthClientTest {
    private static TestingBerth server;
    private static BerthClient berth;
    private static BerthClient operator;

    @BeforeAll
    static void start() {
        server = new TestingBerth();
        berth = BerthClient.connect(server.url(), server.tenant("acme"));
        operator = BerthClient.connect(server.url(), TestingBerth.ADMIN);
    }

    @AfterAll
    static void stop() {
        berth.close();
        operator.close();
        server.close();
    }

    @Test
    void runsCommandsAndCode() {
        SessionClient session = berth.session("runs");
        RunResult result =
                session.bash(BashCall.of("echo $A; echo oops >&2; exit 3").withEnv(Map.of("A", "ä")));
        assertThat(result.success()).isFalse();
        assertThat(result.exitCode()).contains(3);
        assertThat(result.stdout()).isEqualTo("ä\n");
        assertThat(result.stderr()).isEqualTo("oops\n");
        assertThat(session.bash(BashCall.of("sleep 60").withTimeout(Duration.ofMillis(500)))
                        .timedOut())
                .isTrue();
        assertThat(session.execute(ExecuteCall.python("x = 20 + 1").keepingState())
                        .success())
                .isTrue();
        assertThat(session.execute(ExecuteCall.python("x * 2").keepingState()).result())
                .contains("42");
    }

    @Test
    void aStreamedCallEndsWithItsResult() {
        StringBuilder out = new StringBuilder();
        Optional<Integer> code = Optional.empty();
        try (CallStream call = berth.session("streams").stream(BashCall.of("echo one; echo two; exit 5"))) {
            for (var event = call.next(); event.isPresent(); event = call.next()) {
                switch (event.get()) {
                    case CallStream.Event.Output output ->
                        out.append(new String(output.bytes(), StandardCharsets.UTF_8));
                    case CallStream.Event.Done done -> {
                        code = done.result().exitCode();
                        if (!done.streamed()) {
                            out.append(done.result().stdout());
                        }
                    }
                    case CallStream.Event.Other _ -> {}
                }
            }
        }
        assertThat(out).hasToString("one\ntwo\n");
        assertThat(code).contains(5);
    }

    @Test
    void readsWritesEditsAndFindsFiles() {
        SessionClient session = berth.session("files");
        session.write("src/a.txt", "one\ntwo\nthree\n");
        assertThat(session.read("src/a.txt").content()).contains("two");
        FileText page = session.read("src/a.txt", 2, 1);
        assertThat(page.startLine()).isEqualTo(2);
        assertThat(page.more()).isTrue();
        assertThat(session.edit("src/a.txt", "two", "2", false).success()).isTrue();
        RunResult wrong = session.edit("src/a.txt", "nowhere", "x", false);
        assertThat(wrong.success()).isFalse();
        assertThat(wrong.error()).isPresent();
        assertThat(session.glob("**/*.txt").files())
                .extracting(FoundFiles.Found::path)
                .containsExactly("src/a.txt");
        assertThat(session.grep(Json.object().with("pattern", "^2$"))
                        .get("files")
                        .toString())
                .contains("src/a.txt");
        BerthException e = catchThrowableOfType(BerthException.class, () -> session.read("no/such"));
        assertThat(e.is(BerthException.NOT_FOUND)).isTrue();
        assertThat(e.requestId()).isPresent();
    }

    @Test
    void largeFilesGoInAndComeOutAsTheyAre(@TempDir Path local) throws IOException {
        byte[] bytes = new byte[5_000_000];
        new Random(1).nextBytes(bytes);
        Path file = Files.write(local.resolve("large"), bytes);
        SessionClient session = berth.session("large");
        session.upload("from-file", file);
        session.upload("from-stream", new ByteArrayInputStream(bytes));
        for (String name : List.of("from-file", "from-stream")) {
            try (InputStream back = session.download(name)) {
                assertThat(back.readAllBytes()).isEqualTo(bytes);
            }
        }
    }

    @Test
    void aSessionLivesThroughAllOfItsStates() {
        SessionInfo made =
                berth.make(NewSession.named("life:1").withMemory(256 << 20).pinned());
        assertThat(made.tenant()).isEqualTo("acme");
        assertThat(made.pinned()).isTrue();
        SessionClient session = berth.session("life:1");
        assertThat(session.pin(false).pinned()).isFalse();
        session.write("a", "before");
        Checkpoint checkpoint = session.checkpoint(Optional.of("clean"));
        session.write("a", "after");
        assertThat(session.checkpoints()).extracting(Checkpoint::name).contains("clean");
        KeptCheckpoint kept = session.keep(Optional.of("life"));
        assertThat(berth.keptCheckpoints(Optional.of(session.id()), 10)).containsExactly(kept);
        berth.make(NewSession.named("life:kept")
                .fromCheckpoint("life")
                .withMetadata(Map.of("a", "b"))
                .withExpiry(Duration.ofMinutes(10), "delete"));
        assertThat(berth.session("life:kept")
                        .info()
                        .json()
                        .get("metadata")
                        .get("a")
                        .text())
                .isEqualTo("b");
        berth.session("life:kept").delete();
        berth.deleteCheckpoint(kept.id());
        SessionInfo fork = session.fork(Optional.of("life:2"), Optional.of(checkpoint.turn()));
        assertThat(berth.session(fork.id()).read("a").content()).contains("before");
        session.rollback(checkpoint.turn());
        assertThat(session.read("a").content()).contains("before");
        assertThat(session.pause().state()).isEqualTo("paused");
        assertThat(session.resume().state()).isEqualTo("active");
        assertThat(session.infoWithUsage().usage().orElseThrow().pids()).isPositive();
        assertThat(session.stop().state()).isEqualTo("stopped");
        assertThat(session.archive().state()).isEqualTo("archived");
        assertThat(berth.sessions()).extracting(SessionInfo::id).contains("life:1", "life:2");
        assertThat(berth.sessions(Optional.of("archived"), Optional.of(10), false))
                .extracting(SessionInfo::id)
                .contains("life:1")
                .doesNotContain("life:2");
        session.delete();
        assertThat(catchThrowableOfType(BerthException.class, session::info).code())
                .isEqualTo("not_found");
    }

    @Test
    void eventsComeOnceEachAlthoughTheConnectionBreaksAgainAndAgain() throws Exception {
        berth.session("watched").bash("true");
        try (CuttingProxy proxy = new CuttingProxy(server.url());
                BerthClient through = BerthClient.connect(proxy.url(), server.key("acme", Scope.ALL));
                EventStream events = through.session("watched").events(0)) {
            List<Long> seen = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                berth.session("watched").bash("exit " + i);
                SessionEvent event;
                do {
                    event = events.next().orElseThrow();
                    seen.add(event.seq());
                } while (!event.kind().equals("tool")
                        || event.data().get("exit_code").whole() != i);
                proxy.cutAll();
            }
            assertThat(proxy.connections()).isGreaterThan(20);
            for (int i = 0; i < seen.size(); i++) {
                assertThat(seen.get(i)).isEqualTo(i + 1);
            }
        }
    }

    @Test
    void aStreamEndsWhenItIsClosedAndWhenThereIsNoSessionToComeBackTo() throws Exception {
        berth.session("ends").bash("true");
        EventStream closed = berth.session("ends").events(0);
        Thread closer = Thread.ofVirtual().start(() -> {
            while (closed.last() == 0) {
                Thread.onSpinWait();
            }
            closed.close();
        });
        for (SessionEvent event : closed) {
            assertThat(event.seq()).isPositive();
        }
        closer.join();
        try (CuttingProxy proxy = new CuttingProxy(server.url());
                BerthClient through = BerthClient.connect(proxy.url(), server.key("acme", Scope.ALL));
                EventStream removed = through.session("ends").events(0)) {
            server.sessions().delete(SessionKey.of("acme", "ends"));
            proxy.cutAll();
            List<String> types = new ArrayList<>();
            for (SessionEvent event : removed) {
                types.add(event.type());
            }
            assertThat(types).doesNotHaveDuplicates();
        }
        assertThat(catchThrowableOfType(
                                BerthException.class,
                                () -> berth.session("ends").events(0))
                        .code())
                .isEqualTo("not_found");
    }

    @Test
    void whatHasHappenedIsToldWithoutWaiting() {
        berth.session("now").bash("exit 7");
        try (EventStream events = berth.session("now").events(0)) { // it is written a moment after the answer
            while (events.next().orElseThrow().data().get("exit_code").whole() != 7) {
                assertThat(events.last()).isPositive();
            }
        }
        assertThat(berth.session("now").eventsUntilNow(0))
                .extracting(event -> event.data().get("exit_code").whole())
                .contains(7L);
    }

    @Test
    void keysAreMadeTurnedAndEnded() {
        ApiKey.Made made = berth.keys().make("ci", List.of("tools", "keys"), Optional.of(Duration.ofHours(1)));
        assertThat(made.key().scopes()).containsExactlyInAnyOrder("tools", "keys");
        assertThat(made.key().expiresAt()).isPresent();
        assertThat(made.toString()).doesNotContain(made.secret());
        try (BerthClient ci = BerthClient.connect(server.url(), made.secret())) {
            assertThat(catchThrowableOfType(BerthException.class, ci::sessions).code())
                    .isEqualTo("denied");
            ApiKey.Made turned = ci.keys().rotate(made.key().id(), Optional.of(Duration.ofMinutes(1)));
            berth.keys().revoke(turned.key().id());
            berth.keys().revoke(made.key().id());
            assertThat(catchThrowableOfType(BerthException.class, ci::sessions).code())
                    .isEqualTo("unauthenticated");
        }
        assertThat(berth.keys().list())
                .filteredOn(key -> key.id().equals(made.key().id()))
                .allSatisfy(key -> assertThat(key.revokedAt()).isPresent());
    }

    @Test
    void theOperatorWorksForAnyTenant() {
        operator.admin().putTenant("globex", Json.object().with("live", 5));
        BerthClient globex = operator.forTenant("globex");
        globex.session("theirs").write("a", "1");
        assertThat(globex.session("theirs").info().tenant()).isEqualTo("globex");
        assertThat(globex.sessions()).extracting(SessionInfo::id).containsExactly("theirs");
        assertThat(globex.keys()
                        .make("theirs", List.of(), Optional.empty())
                        .key()
                        .tenant())
                .isEqualTo("globex");
        assertThat(operator.admin().tenant("globex").limits().get("live").whole())
                .isEqualTo(5);
        assertThat(operator.admin().tenants()).extracting(Admin.Tenant::id).contains("globex", "acme");
        assertThat(operator.admin().usage())
                .extracting(Admin.TenantUsage::tenant)
                .contains("globex");
        assertThat(catchThrowableOfType(
                                BerthException.class,
                                () -> berth.session("theirs").info())
                        .code())
                .isEqualTo("not_found");
    }

    @Test
    void toolsForModelsAreListedAndCalled() {
        assertThat(berth.tools()).extracting(tool -> tool.get("name").text()).contains("bash", "edit");
        assertThat(berth.session("tools")
                        .tool("bash", Json.object().with("command", "echo hi"))
                        .stdout())
                .isEqualTo("hi\n");
    }
}
