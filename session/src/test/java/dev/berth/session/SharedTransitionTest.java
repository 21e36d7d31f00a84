package dev.berth.session;

import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxState;
import dev.berth.session.CreationLog.What;
import dev.berth.session.SessionTable.Activity;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many callers of one server who want the same session: one brings it up, and whoever gives up changes nothing. */
class SharedTransitionTest {
    @TempDir
    Path directory;

    /** The making of a sandbox has begun, and may go on. */
    private final CountDownLatch making = new CountDownLatch(1);

    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private TestingDatabase ownDatabase;
    private Database database;
    private DirectoryProvider provider;
    private Sessions sessions;

    @BeforeEach
    void start() {
        ownDatabase = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(ownDatabase.url()));
        provider = DirectoryProvider.open(directory, this::hold);
        sessions = RaceServer.open(directory, database, provider);
    }

    private void hold(What what, SandboxId id) throws InterruptedException {
        if (what == What.CREATED) {
            making.countDown();
            assertThat(mayGoOn.await(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @AfterEach
    void stop() {
        mayGoOn.countDown();
        sessions.close();
        database.close();
        ownDatabase.close();
    }

    @Test
    void aHundredCallersMakeOneSandbox() throws Exception {
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Session>> resolving = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                resolving.add(callers.submit(() -> sessions.resolve(key("new"), SPEC)));
            }
            making.await();
            mayGoOn.countDown();
            for (Future<Session> caller : resolving) {
                try (Session session = caller.get(60, TimeUnit.SECONDS)) {
                    assertThat(session.sandbox().ready()).isTrue();
                }
            }
        }
        assertThat(provider.log().count(What.BEGUN)).isEqualTo(1);
        assertThat(provider.log().count(What.CREATED)).isEqualTo(1);
    }

    @Test
    void aCallerWhoIsInterruptedDoesNotCancelItForTheOthers() throws Exception {
        FutureTask<Session> impatient = new FutureTask<>(() -> sessions.resolve(key("new"), SPEC));
        Thread thread = Thread.ofPlatform().start(impatient);
        making.await();
        CompletableFuture<Session> patient = CompletableFuture.supplyAsync(() -> sessions.resolve(key("new"), SPEC));
        thread.interrupt();
        assertThatThrownBy(impatient::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAVAILABLE));
        assertThat(patient).isNotDone();
        mayGoOn.countDown();
        try (Session session = patient.get(60, TimeUnit.SECONDS)) {
            assertThat(session.sandbox().ready()).isTrue();
        }
        assertThat(provider.log().count(What.BEGUN)).isEqualTo(1);
        assertThat(provider.log().count(What.CREATED)).isEqualTo(1);
    }

    @Test
    void itGoesOnWhenTheOnlyCallerGaveUp() throws Exception {
        FutureTask<Session> impatient = new FutureTask<>(() -> sessions.resolve(key("new"), SPEC));
        Thread thread = Thread.ofPlatform().start(impatient);
        making.await();
        thread.interrupt();
        assertThatThrownBy(impatient::get).isInstanceOf(ExecutionException.class);
        mayGoOn.countDown();
        RaceTest.await(
                "the session is up",
                () -> sessions.find(key("new")).orElseThrow().state() == SessionState.ACTIVE);
        try (Session session = sessions.resolve(key("new"), SPEC)) {
            assertThat(session.sandbox().state()).isEqualTo(SandboxState.RUNNING);
        }
        assertThat(provider.log().count(What.CREATED)).isEqualTo(1);
    }

    @Test
    void aSessionThatIsHeldStaysUpWhenItHadToBeLookedAtAgain() throws Exception {
        mayGoOn.countDown();
        SessionSpec restless = SPEC.withIdle(IdlePolicy.NEVER.pauseAfter(Duration.ZERO));
        try (Session stream = sessions.resolve(key("held"), restless)) {
            stream.suspect();
            sessions.resolve(key("held")).close();
            sessions.sweep();
            assertThat(stream.sandbox().state()).isEqualTo(SandboxState.RUNNING);
        }
        sessions.sweep();
        RaceTest.await(
                "the session is paused",
                () -> sessions.find(key("held")).orElseThrow().state() == SessionState.PAUSED);
    }

    @Test
    void aStoppedSessionThatWasStartedBehindItsBackIsTakenAsItIs() {
        mayGoOn.countDown();
        sessions.resolve(key("stopped"), SPEC).close();
        sessions.stop(key("stopped"));
        provider.find(key("stopped").sandboxId()).orElseThrow().wake();
        try (Session session = sessions.resolve(key("stopped"))) {
            assertThat(session.info().state()).isEqualTo(SessionState.ACTIVE);
            assertThat(session.loss()).isEmpty();
        }
    }

    @Test
    void serversThatWriteDownTheSameActivityDoNotBlockEachOther() throws Exception {
        mayGoOn.countDown();
        List<Activity> one = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            sessions.resolve(key("key-" + i), SPEC).close();
            one.add(new Activity(key("key-" + i), Duration.ZERO));
        }
        try (ExecutorService servers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> flushes = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                List<Activity> some = i % 2 == 0 ? one : one.reversed();
                flushes.add(servers.submit(() -> database.transaction(handle -> {
                    SessionTable.touch(handle, some);
                    return some.size();
                })));
            }
            for (Future<Integer> flush : flushes) {
                assertThat(flush.get(60, TimeUnit.SECONDS)).isEqualTo(20);
            }
        }
    }
}
