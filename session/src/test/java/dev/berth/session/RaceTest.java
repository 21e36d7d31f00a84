package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxState;
import dev.berth.session.CreationLog.What;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three servers on one database and one provider: whatever they do at the same time, a key has one sandbox. */
class RaceTest {
    private static final int SERVERS = 3;
    private static final int KEYS = 100;
    private static final int RESOLVES = 1000;

    @TempDir
    Path directory;

    private final long seed = Long.getLong("race.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<RaceServerProcess> servers = new ArrayList<>();
    private TestingDatabase ownDatabase;
    private Database database;
    private DirectoryProvider provider;

    @BeforeEach
    void start() throws Exception {
        System.out.println("-Drace.seed=" + seed);
        ownDatabase = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(ownDatabase.url()));
        database.query(handle -> handle.execute("UPDATE tenants SET max_live = NULL, max_created_per_minute = NULL"));
        provider = RaceServer.provider(directory, seed);
        for (int i = 0; i < SERVERS; i++) {
            servers.add(RaceServerProcess.start(ownDatabase.url(), directory, random.nextLong()));
        }
        for (RaceServerProcess server : servers) {
            server.awaitReady();
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (RaceServerProcess server : servers) {
            server.end();
        }
        database.close();
        ownDatabase.close();
    }

    @Test
    void aThousandResolvesOfAHundredKeysMakeAHundredSandboxes() throws Exception {
        List<CompletableFuture<String>> answers = resolveAll();
        for (CompletableFuture<String> answer : answers) {
            assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo("ok");
        }
        assertThat(provider.log().count(What.BEGUN)).isEqualTo(KEYS);
        assertThat(provider.log().count(What.CREATED)).isEqualTo(KEYS);
        assertThat(provider.log().count(What.REFUSED)).isZero();
        checkOneSandboxForEachKey();
    }

    @Test
    void aServerThatIsKilledInTheMiddleLeavesNoSandboxBehindAndNoneTwice() throws Exception {
        RaceServerProcess victim = servers.getFirst();
        List<CompletableFuture<String>> ofVictim = new ArrayList<>();
        List<CompletableFuture<String>> ofSurvivors = new ArrayList<>();
        for (String key : thousandKeys()) {
            RaceServerProcess server = servers.get(random.nextInt(SERVERS));
            (server == victim ? ofVictim : ofSurvivors).add(server.ask("resolve", key));
        }
        CreationLog log = provider.log();
        await("30 are made and the victim makes one", () -> log.count(What.CREATED) >= 30 && log.making(victim.pid()));
        victim.kill();
        long before = log.count(What.CREATED);
        for (CompletableFuture<String> answer : ofSurvivors) {
            assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo("ok");
        }
        assertThat(ofVictim.stream().map(CompletableFuture::join))
                .contains("died")
                .isSubsetOf("ok", "died");
        for (int key = 0; key < KEYS; key++) {
            assertThat(servers.getLast().ask("resolve", "key-" + key).get(60, TimeUnit.SECONDS))
                    .isEqualTo("ok");
        }
        System.out.println("killed after " + before + " of " + KEYS + "; half-made sandboxes taken over: "
                + log.count(What.ABANDONED));
        assertThat(log.doubled()).isEmpty();
        assertThat(log.count(What.REFUSED)).isZero();
        checkOneSandboxForEachKey();
    }

    @Test
    void pausesAndDeletionsAndMessagesAtTheSameTimeEndWithOneSandboxOrNone() throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(6).toNanos();
        ConcurrentLinkedQueue<String> outcomes = new ConcurrentLinkedQueue<>();
        try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> running = new ArrayList<>();
            for (int client = 0; client < 4 * SERVERS; client++) {
                RaceServerProcess server = servers.get(client % SERVERS);
                Random own = new Random(random.nextLong());
                running.add(clients.submit(() -> {
                    while (System.nanoTime() < end) {
                        int dice = own.nextInt(100);
                        String verb = dice < 55 ? "resolve" : dice < 75 ? "pause" : dice < 80 ? "stop" : "delete";
                        outcomes.add(verb + ": " + server.ask(verb, "one").get(60, TimeUnit.SECONDS));
                    }
                    return end;
                }));
            }
            for (Future<?> client : running) {
                client.get();
            }
        }
        System.out.println(outcomes.size() + " calls, " + provider.log().count(What.CREATED) + " sandboxes made");
        assertThat(outcomes)
                .allSatisfy(
                        outcome -> assertThat(outcome)
                                // A session that is up can be paused, stopped or removed by another one at any moment.
                                .matches(
                                        "\\w+: ok|resolve: used (CONFLICT|GONE) .*|(pause|stop|delete): (CONFLICT|NOT_FOUND) .*"));
        assertThat(outcomes).contains("resolve: ok", "pause: ok", "delete: ok");
        assertThat(provider.log().doubled()).isEmpty();
        assertThat(provider.log().count(What.REFUSED)).isZero();
        checkSettled();

        assertThat(servers.get(1).ask("resolve", "one").get(60, TimeUnit.SECONDS))
                .isEqualTo("ok");
        assertThat(provider.list()).hasSize(1);
        assertThat(servers.get(2).ask("delete", "one").get(60, TimeUnit.SECONDS))
                .isEqualTo("ok");
        assertThat(provider.list()).isEmpty();
        checkSettled();
    }

    /** The row says what is there. */
    private void checkSettled() {
        SessionKey key = TestingSessions.key("one");
        SessionState state = database.query(handle -> SessionTable.find(handle, key))
                .orElseThrow()
                .state();
        Optional<SandboxState> sandbox = provider.find(key.sandboxId()).map(Sandbox::state);
        assertThat(sandbox)
                .as(state.toString())
                .isEqualTo(
                        switch (state) {
                            case ACTIVE -> Optional.of(SandboxState.RUNNING);
                            case PAUSED -> Optional.of(SandboxState.PAUSED);
                            case STOPPED -> Optional.of(SandboxState.STOPPED);
                            case DESTROYED -> Optional.empty();
                            default -> throw new AssertionError("it is left " + state);
                        });
        assertThat(count("SELECT count(*) FROM sandboxes WHERE destroyed_at IS NULL"))
                .isEqualTo(sandbox.isPresent() ? 1 : 0);
    }

    private List<CompletableFuture<String>> resolveAll() {
        return thousandKeys().stream()
                .map(key -> servers.get(random.nextInt(SERVERS)).ask("resolve", key))
                .toList();
    }

    private List<String> thousandKeys() {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < RESOLVES; i++) {
            keys.add("key-" + i % KEYS);
        }
        Collections.shuffle(keys, random);
        return keys;
    }

    private void checkOneSandboxForEachKey() throws Exception {
        assertThat(provider.list()).hasSize(KEYS);
        try (var boxes = Files.list(directory.resolve("boxes"))) {
            assertThat(boxes.count()).isEqualTo(KEYS);
        }
        assertThat(count("SELECT count(*) FROM sessions WHERE state = 'active'"))
                .isEqualTo(KEYS);
        assertThat(count("SELECT count(*) FROM sessions")).isEqualTo(KEYS);
        assertThat(count("SELECT count(*) FROM sandboxes WHERE destroyed_at IS NULL"))
                .isEqualTo(KEYS);
    }

    private long count(String sql) {
        return database.query(
                handle -> handle.createQuery(sql).mapTo(Long.class).one());
    }

    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        Deadline deadline = Deadline.after(Duration.ofSeconds(60));
        while (!condition.getAsBoolean()) {
            if (deadline.passed()) {
                throw new AssertionError("waited in vain until " + what);
            }
            Thread.sleep(1);
        }
    }
}
