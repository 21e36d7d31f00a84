package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxState;
import dev.berth.session.Expiry.Then;
import dev.berth.session.store.Database;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Sessions that are up for a certain time, on a server whose janitor looks once a minute by itself. Needs root and crun. */
class ExpiryTest {
    private static final Duration SOON = Duration.ofMillis(700);
    private static final Duration LONG = Duration.ofMinutes(10);
    /** How late an end may come on a machine that is busy with other tests; far below what the janitor takes by itself. */
    private static final Duration LATE = Duration.ofSeconds(10);

    private static TestingSessions server;

    @BeforeAll
    static void start() {
        server = new TestingSessions();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void aSessionIsDeletedOnTimeThoughItIsHeldAndPinnedAndHasAJob() {
        try (Session session = create("delete", Then.DELETE, LONG)) {
            server.sessions().pin(key("delete"), true);
            server.database()
                    .query(
                            handle -> handle.execute(
                                    "INSERT INTO jobs (id, tenant, session, state) VALUES ('j', 'default', 'delete', 'running')"));
            server.sessions().expire(key("delete"), SOON);
            Instant end = session.info().expiresAt().orElseThrow();
            await("deleted", () -> server.state("delete") == SessionState.DESTROYED);
            assertThat(Instant.now()).isBetween(end, end.plus(LATE));
            assertFails(ErrorCode.GONE, () -> run(session, "true"));
        }
        assertThat(server.info("delete").expiresAt()).isEmpty();
        assertThat(server.sandbox("delete")).isEmpty();
    }

    @Test
    void aSessionThatIsHeldIsPausedOnTimeAndHasAllItsTimeAgainWhenItWakes() {
        Instant end;
        try (Session session = create("pause", Then.PAUSE, LONG)) {
            run(session, "sleep 1000 >/dev/null 2>&1 & echo $! > ~/pid");
            server.sessions().expire(key("pause"), SOON);
            end = session.info().expiresAt().orElseThrow();
            await("paused", () -> server.state("pause") == SessionState.PAUSED);
            assertThat(Instant.now()).isBetween(end, end.plus(LATE));
            assertThat(session.sandbox().state()).isEqualTo(SandboxState.PAUSED);
        }
        assertThat(server.info("pause").expiresAt()).isEmpty();
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().extend(key("pause"), LONG));

        Instant woken = Instant.now();
        assertThat(server.run("pause", "kill -0 $(cat ~/pid) && echo alive")).isEqualTo("alive");
        assertThat(server.info("pause").expiresAt().orElseThrow())
                .isAfterOrEqualTo(woken.plus(LONG).minusMillis(50));
        server.sessions().expire(key("pause"), SOON);
        Instant again = server.info("pause").expiresAt().orElse(Instant.now());
        await("paused again", () -> server.state("pause") == SessionState.PAUSED);
        assertThat(Instant.now()).isBefore(again.plus(LATE));
    }

    @Test
    void aSessionIsStoppedOnTimeAndKeepsItsFiles() {
        try (Session session = create("stop", Then.STOP, LONG)) {
            run(session, "echo kept > ~/file");
            server.sessions().expire(key("stop"), SOON);
            await("stopped", () -> server.state("stop") == SessionState.STOPPED);
        }
        assertThat(server.run("stop", "cat ~/file")).isEqualTo("kept");
    }

    @Test
    void expireSetsTheEndAbsolutelyAndExtendOnlyEverLater() {
        create("moved", Then.DELETE, LONG).close();
        Instant first = server.info("moved").expiresAt().orElseThrow();
        server.sessions().extend(key("moved"), Duration.ofMinutes(1));
        assertThat(server.info("moved").expiresAt()).contains(first);
        server.sessions().extend(key("moved"), LONG.multipliedBy(2));
        assertThat(server.info("moved").expiresAt().orElseThrow()).isAfter(first.plus(LONG.minusMinutes(1)));
        server.sessions().expire(key("moved"), Duration.ofMinutes(1));
        assertThat(server.info("moved").expiresAt().orElseThrow()).isBefore(first);
        try (Session session = server.resolve("moved")) {
            assertThat(session.info().expiresAt())
                    .isEqualTo(server.info("moved").expiresAt());
        }
        server.sessions().expire(key("moved"), Duration.ofSeconds(-5));
        await("deleted at once", () -> server.state("moved") == SessionState.DESTROYED);
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().expire(key("moved"), LONG));
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().extend(key("moved"), LONG));
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().expire(key("never-made"), LONG));
    }

    @Test
    void aSessionWithoutAnExpiryHasNoTimeToChangeUntilItIsGivenOne() {
        server.resolve("plain").close();
        assertThat(server.info("plain").expiresAt()).isEmpty();
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().expire(key("plain"), Duration.ZERO));
        server.sessions().expiry(key("plain"), Optional.of(new Expiry(SOON, Then.PAUSE, true)));
        await("paused", () -> server.state("plain") == SessionState.PAUSED);
        assertThat(server.info("plain").expiry().orElseThrow().wakesOnTraffic()).isTrue();
        server.sessions().expiry(key("plain"), Optional.empty());
        server.resolve("plain").close();
        assertThat(server.info("plain").expiresAt()).isEmpty();
    }

    @Test
    void aRequestToPauseOrStopEndsItsTime() {
        create("asked", Then.DELETE, LONG).close();
        server.sessions().pause(key("asked"));
        assertThat(server.info("asked").expiresAt()).isEmpty();
        server.resolve("asked").close();
        assertThat(server.info("asked").expiresAt()).isPresent();
        server.sessions().stop(key("asked"));
        assertThat(server.info("asked").expiresAt()).isEmpty();
        server.resolve("asked").close();
        assertThat(server.info("asked").expiresAt()).isPresent();
    }

    @Test
    void aSessionDoesNotWaitForTheEndOfAnotherThatTakesLong() {
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        server.restartAround(real -> CuttingProvider.around(real, () -> {
            stuck.countDown();
            awaitZero(release);
        }));
        try {
            create("slow", Then.PAUSE, Duration.ofMillis(100)).close();
            awaitZero(stuck);
            create("quick", Then.PAUSE, Duration.ofMillis(100)).close();
            await("the quick one paused", () -> server.state("quick") == SessionState.PAUSED);
            assertThat(server.state("slow")).isEqualTo(SessionState.PAUSING);
        } finally {
            release.countDown();
        }
        await("the slow one paused", () -> server.state("slow") == SessionState.PAUSED);
    }

    @Test
    void theEndOfASessionDoesNotWaitForIdleOnesHoweverManyTakeLong() {
        AtomicInteger stuck = new AtomicInteger();
        CountDownLatch release = new CountDownLatch(1);
        server.restartAround(real -> CuttingProvider.before(real, "find", () -> {
            if (Thread.currentThread().getName().startsWith("janitor default/idle-")) {
                stuck.incrementAndGet();
                awaitZero(release);
            }
        }));
        SessionSpec idle = SPEC.withIdle(IdlePolicy.NEVER.pauseAfter(Duration.ofMillis(1)));
        for (int i = 0; i < 20; i++) {
            server.sessions().create(key("idle-" + i), idle).close();
        }
        Thread sweep = Thread.ofVirtual().start(() -> server.sessions().sweep());
        try {
            await("idle ones that take long", () -> stuck.get() >= 4);
            create("over", Then.DELETE, LONG).close();
            server.sessions().expire(key("over"), Duration.ZERO);
            await("deleted", () -> server.state("over") == SessionState.DESTROYED);
        } finally {
            release.countDown();
        }
        await("the sweep", () -> !sweep.isAlive());
    }

    private static void awaitZero(CountDownLatch latch) {
        await("something that another thread does", () -> latch.getCount() == 0);
    }

    @Test
    void theEndComesAsSoonAsWhoeverIsBusyWithTheSessionIsDone() {
        create("busy", Then.DELETE, LONG).close();
        try (Database.Pinned connection = server.database().pin(LONG)) {
            connection.query(
                    handle -> handle.execute("SELECT pg_advisory_lock(hashtextextended('berth default/busy', 0))"));
            server.sessions().expire(key("busy"), Duration.ZERO);
            Instant later = Instant.now().plus(SOON);
            await("a while", () -> Instant.now().isAfter(later));
            assertThat(server.state("busy")).isEqualTo(SessionState.ACTIVE);
            connection.query(
                    handle -> handle.execute("SELECT pg_advisory_unlock(hashtextextended('berth default/busy', 0))"));
        }
        Instant free = Instant.now();
        await("deleted", () -> server.state("busy") == SessionState.DESTROYED);
        assertThat(Instant.now()).isBefore(free.plus(LATE));
    }

    @Test
    void aServerThatDiesWhileItBringsASessionUpLeavesOneThatStillEnds() {
        create("cut", Then.DELETE, LONG).close();
        server.sessions().expire(key("cut"), LONG.multipliedBy(2));
        server.sessions().stop(key("cut"));
        server.forget(key("cut"));
        server.sandbox("cut").orElseThrow().wake();
        server.database().query(handle -> {
            SessionInfo row = SessionTable.find(handle, key("cut")).orElseThrow();
            return SessionTable.update(
                    handle, row, SessionState.RESUMING, RowChange.none(), SessionEvent.of("sandbox.resume"), true);
        });
        server.sessions().settle();
        assertThat(server.state("cut")).isEqualTo(SessionState.ACTIVE);
        assertThat(server.info("cut").expiresAt().orElseThrow())
                .isBefore(Instant.now().plus(LONG));
        timeIsOver("cut");
        await("time to end", () -> {
            server.sessions().sweep();
            return server.state("cut") == SessionState.DESTROYED;
        });
    }

    @Test
    void aSessionInErrorIsStoppedOnTimeSoThatItsSandboxDoesNotRunForEver() {
        create("failed", Then.PAUSE, LONG).close();
        fail("failed");
        timeIsOver("failed");
        server.sessions().sweep();
        assertThat(server.state("failed")).isEqualTo(SessionState.STOPPED);
        assertThat(server.sandbox("failed").orElseThrow().state()).isEqualTo(SandboxState.STOPPED);
        assertThat(server.info("failed").expiresAt()).isEmpty();
    }

    @Test
    void aSessionInErrorThatNeverWasUpIsDeletedOnTime() {
        create("never-up", Then.STOP, LONG).close();
        fail("never-up");
        server.database()
                .query(handle -> handle.execute("UPDATE sessions SET resumed_at = NULL WHERE id = 'never-up'"));
        timeIsOver("never-up");
        server.sessions().sweep();
        assertThat(server.state("never-up")).isEqualTo(SessionState.DESTROYED);
        assertThat(server.sandbox("never-up")).isEmpty();
    }

    @Test
    void aSessionInErrorWithoutASandboxHasNoEndThatIsTriedForEver() {
        create("no-sandbox", Then.STOP, LONG).close();
        fail("no-sandbox");
        server.sandbox("no-sandbox").orElseThrow().destroy();
        timeIsOver("no-sandbox");
        server.sessions().sweep();
        assertThat(server.state("no-sandbox")).isEqualTo(SessionState.ERROR);
        assertThat(server.info("no-sandbox").expiresAt()).isEmpty();
    }

    @Test
    void aSessionThatFailsOnItsWayUpFromAStopStillEnds() {
        create("half-up", Then.STOP, LONG).close();
        server.sessions().stop(key("half-up"));
        become("half-up", SessionState.RESUMING);
        fail("half-up");
        assertThat(server.info("half-up").expiresAt()).isPresent();
    }

    @Test
    void whatWasReadEarlierDoesNotTakeThePlaceOfWhatWasReadLater() {
        try (Session session = create("read", Then.DELETE, LONG)) {
            SessionInfo first = session.info();
            server.sessions().expire(key("read"), LONG.multipliedBy(2));
            SessionInfo second = session.info();
            server.sessions().pin(key("read"), true);
            SessionInfo third = session.info();
            for (SessionInfo late : List.of(second, first)) {
                session.live().info(late);
                assertThat(session.info()).isEqualTo(third);
            }
            assertThat(third.expiresAt()).isEqualTo(second.expiresAt());
        }
    }

    @Test
    void anEndThatHasBegunIsNotPutOff() {
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        server.restartAround(real -> CuttingProvider.before(real, "find", () -> {
            if (Thread.currentThread().getName().equals("janitor default/too-late")) {
                stuck.countDown();
                awaitZero(release);
            }
        }));
        try {
            create("too-late", Then.STOP, LONG).close();
            server.sessions().expire(key("too-late"), Duration.ZERO);
            awaitZero(stuck);
            assertThat(server.state("too-late")).isEqualTo(SessionState.ACTIVE);
            assertFails(ErrorCode.CONFLICT, () -> server.sessions().extend(key("too-late"), LONG));
            assertFails(ErrorCode.CONFLICT, () -> server.sessions().expire(key("too-late"), LONG));
        } finally {
            release.countDown();
        }
        await("stopped", () -> server.state("too-late") == SessionState.STOPPED);
        server.resolve("too-late").close();
        server.sessions().extend(key("too-late"), LONG.multipliedBy(2));
        assertThat(server.info("too-late").expiresAt().orElseThrow())
                .isAfter(Instant.now().plus(LONG));
    }

    @Test
    void aSessionThatIsBeingPausedIsNotPutOff() {
        create("pausing", Then.PAUSE, LONG).close();
        become("pausing", SessionState.PAUSING);
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().extend(key("pausing"), LONG));
        server.sessions().settle();
        assertThat(server.state("pausing")).isEqualTo(SessionState.ACTIVE);
        server.sessions().extend(key("pausing"), LONG);
    }

    @Test
    void whatIsPutOffWhileASessionComesUpStaysPutOff() {
        create("coming", Then.DELETE, LONG).close();
        server.sessions().stop(key("coming"));
        server.sandbox("coming").orElseThrow().wake();
        become("coming", SessionState.RESUMING);
        server.sessions().extend(key("coming"), LONG.multipliedBy(3));
        server.sessions().settle();
        assertThat(server.state("coming")).isEqualTo(SessionState.ACTIVE);
        assertThat(server.info("coming").expiresAt().orElseThrow())
                .isAfter(Instant.now().plus(LONG.multipliedBy(2)));
    }

    @Test
    void anEndThatIsSetWhileASessionComesUpHoldsOnceItIsUp() throws Exception {
        create("set", Then.DELETE, LONG).close();
        server.sessions().stop(key("set"));
        server.sandbox("set").orElseThrow().wake();
        become("set", SessionState.RESUMING);
        FutureTask<Boolean> expiring =
                new FutureTask<>(() -> server.sessions().expire(key("set"), Duration.ofMinutes(1)), true);
        try (Database.Pinned connection = server.database().pin(LONG)) {
            connection.query(
                    handle -> handle.execute("SELECT pg_advisory_lock(hashtextextended('berth default/set', 0))"));
            Thread thread = Thread.ofVirtual().start(expiring);
            await("it waits", () -> waiting() || !thread.isAlive());
            become("set", SessionState.ACTIVE);
            connection.query(
                    handle -> handle.execute("SELECT pg_advisory_unlock(hashtextextended('berth default/set', 0))"));
        }
        assertThat(expiring.get()).isTrue();
        assertThat(server.info("set").expiresAt().orElseThrow())
                .isBefore(Instant.now().plus(Duration.ofMinutes(2)));
    }

    private static boolean waiting() {
        return server.database()
                .query(handle -> handle.createQuery("SELECT EXISTS (SELECT FROM pg_stat_activity"
                                + " WHERE wait_event_type = 'Lock' AND query LIKE '%pg_advisory_lock%'"
                                + " AND datname = current_database())")
                        .mapTo(Boolean.class)
                        .one());
    }

    /** As if it could not be brought up, by a server that then died. */
    private static void fail(String id) {
        server.forget(key(id));
        become(id, SessionState.ERROR);
    }

    private static SessionInfo become(String id, SessionState state) {
        return server.database().query(handle -> {
            SessionInfo row = SessionTable.find(handle, key(id)).orElseThrow();
            return SessionTable.update(handle, row, state, RowChange.none(), SessionEvent.of("test"), true);
        });
    }

    private static void timeIsOver(String id) {
        server.database().query(handle -> handle.execute("UPDATE sessions SET expires_at = now() WHERE id = ?", id));
    }

    @Test
    void sessionsWithAnExpiryEndAfterARestartToo() {
        create("restarted", Then.PAUSE, Duration.ofSeconds(3)).close();
        Instant end = server.info("restarted").expiresAt().orElseThrow();
        server.restart();
        assertThat(server.info("restarted").expiresAt()).contains(end);
        await("paused", () -> server.state("restarted") == SessionState.PAUSED);
        assertThat(Instant.now()).isAfterOrEqualTo(end);
    }

    private static Session create(String id, Then then, Duration after) {
        return server.sessions().create(key(id), SPEC.withExpiry(new Expiry(after, then, false)));
    }
}
