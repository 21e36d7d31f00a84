package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Making, finding and listing sessions, and being told of their end. Needs root and crun. */
class SessionQueryTest {
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
    void aSessionIsMadeOnceUntilItIsDeleted() {
        server.sessions()
                .create(key("once"), SPEC.withMetadata(Map.of("user", "ann")))
                .close();
        assertThat(server.info("once").metadata()).isEqualTo(Map.of("user", "ann"));
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().create(key("once"), SPEC));
        assertThat(server.run("once", "echo up")).isEqualTo("up");
        server.sessions().delete(key("once"));
        try (Session anew = server.sessions().create(key("once"), SPEC)) {
            assertThat(run(anew, "echo anew")).isEqualTo("anew");
            assertThat(anew.info().metadata()).isEmpty();
        }
    }

    @Test
    void metadataThatIsTooLargeIsRefused() {
        assertFails(ErrorCode.INVALID, () -> SPEC.withMetadata(Map.of("k", "x".repeat(100_000))));
    }

    @Test
    void sessionsAreListedByWhatTheyAreOnePageAfterTheOther() {
        server.sessions().tenant("lists", TenantLimits.DEFAULT);
        SessionSpec spec = SPEC.withChannel("e2b");
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            ids.addFirst("s" + i);
            server.sessions()
                    .create(
                            SessionKey.of("lists", "s" + i),
                            spec.withMetadata(Map.of("parity", i % 2 == 0 ? "even" : "odd", "n", "" + i)))
                    .close();
        }
        server.sessions().resolve(SessionKey.of("lists", "chat"), SPEC).close();
        server.sessions().pause(SessionKey.of("lists", "s3"));
        server.sessions().delete(SessionKey.of("lists", "s1"));
        ids.remove("s1");
        SessionQuery all = SessionQuery.of("lists").withChannel("e2b");

        assertThat(ids(all)).containsExactlyElementsOf(ids);
        assertThat(ids(all.withOrder(SessionQuery.Order.OLDEST_FIRST))).containsExactlyElementsOf(ids.reversed());
        assertThat(ids(SessionQuery.of("lists"))).hasSize(5).startsWith("chat");
        assertThat(ids(all.withMetadata(Map.of("parity", "even")))).containsExactly("s4", "s2", "s0");
        assertThat(ids(all.withMetadata(Map.of("parity", "even", "n", "2")))).containsExactly("s2");
        assertThat(ids(all.withMetadata(Map.of("parity", "odd", "n", "2")))).isEmpty();
        assertThat(ids(all.withStates(EnumSet.of(SessionState.PAUSED)))).containsExactly("s3");
        assertThat(server.sessions()
                        .count(all.withStates(EnumSet.of(SessionState.ACTIVE)).withLimit(1)))
                .isEqualTo(3);
        assertThat(ids(all.withTemplate("host"))).hasSize(4);
        assertThat(ids(all.withTemplate("other"))).isEmpty();
        Instant third = server.sessions()
                .find(SessionKey.of("lists", "s2"))
                .orElseThrow()
                .times()
                .createdAt();
        assertThat(ids(all.withStartedAfter(third))).containsExactly("s4", "s3", "s2");

        for (SessionQuery.Order order : SessionQuery.Order.values()) {
            SessionQuery page = all.withOrder(order).withLimit(3);
            List<String> paged = new ArrayList<>();
            for (List<SessionInfo> found = server.sessions().list(page);
                    !found.isEmpty();
                    found = server.sessions().list(page.withAfter(SessionQuery.Cursor.of(found.getLast())))) {
                found.forEach(session -> paged.add(session.key().id()));
            }
            assertThat(paged)
                    .containsExactlyElementsOf(order == SessionQuery.Order.NEWEST_FIRST ? ids : ids.reversed());
        }
        assertFails(ErrorCode.INVALID, () -> all.withLimit(0));
    }

    @Test
    void aSessionIsFoundByItsIdAloneWhetherItIsUpOrNot() {
        server.sessions().tenant("finder", TenantLimits.DEFAULT);
        SessionKey key = SessionKey.of("finder", "iabcdefghij0123456789");
        server.sessions().create(key, SPEC.withChannel("e2b")).close();
        assertThat(byId(key.id()).key()).isEqualTo(key);
        assertThat(byId(key.id()).state()).isEqualTo(SessionState.ACTIVE);
        assertThat(server.sessions().findById(key.id(), "another")).isEmpty();
        server.sessions().pause(key);
        assertThat(byId(key.id()).state()).isEqualTo(SessionState.PAUSED);
        // Somebody else's of the same name changes nothing.
        server.resolve(key.id()).close();
        assertThat(byId(key.id()).key()).isEqualTo(key);
        server.sessions().delete(key);
        assertThat(byId(key.id()).state()).isEqualTo(SessionState.DESTROYED);
        assertThat(server.sessions().findById("inever", "e2b")).isEmpty();
    }

    @Test
    void nobodyTakesTheIdOfAnothersEndedSessionByForkingAnOwnOneToIt() {
        server.sessions().tenant("victim", TenantLimits.DEFAULT);
        SessionKey ended = SessionKey.of("victim", "ivictim0123456789abcd");
        server.sessions().create(ended, SPEC.withChannel("e2b")).close();
        server.sessions().delete(ended);
        server.sessions()
                .create(key("own"), SPEC.withChannel("e2b").withSurface(Map.of("a", "b")))
                .close();
        server.sessions()
                .fork(key("own"), OptionalInt.empty(), key(ended.id()), "me")
                .close();
        assertThat(byId(ended.id()).key()).isEqualTo(ended);
        assertThat(server.info(ended.id()).channel()).isEmpty();
        assertThat(server.info(ended.id()).surface()).isEmpty();
    }

    private static SessionInfo byId(String id) {
        return server.sessions().findById(id, "e2b").orElseThrow();
    }

    @Test
    void ofADestroyedSessionNothingIsLeftThatItsUserGaveIt() {
        SessionSpec spec = SPEC.withEnv(Map.of("KEY", "secret"))
                .withMetadata(Map.of("a", "1"))
                .withSurface(Map.of("b", "2"));
        server.sessions().create(key("emptied"), spec).close();
        server.sessions().delete(key("emptied"));
        SessionInfo left = server.info("emptied");
        assertThat(left.env()).isEmpty();
        assertThat(left.metadata()).isEmpty();
        assertThat(left.surface()).isEmpty();
    }

    @Test
    void whatProgramsMadeIsForgottenADayAfterItsEndAndConversationsAreNot() {
        for (String id : List.of("i-old", "i-artifact", "i-young", "talk")) {
            server.sessions()
                    .create(key(id), id.equals("talk") ? SPEC : SPEC.withChannel("e2b"))
                    .close();
            server.sessions().delete(key(id));
        }
        server.database()
                .query(handle -> handle.execute("UPDATE sessions SET destroyed_at = now() - interval '25 hours'"
                        + " WHERE id IN ('i-old', 'i-artifact', 'talk')"));
        server.database().query(handle -> handle.execute("""
                INSERT INTO artifacts (id, tenant, session, name, path, mime_type, size, sha256, kind, expires_at)
                VALUES ('kept', 'default', 'i-artifact', 'a', '/a', 'a/b', 1, 'x', 'binary', now() + interval '1 day')"""));
        server.sessions().settle();
        assertThat(server.sessions().find(key("i-old"))).isEmpty();
        assertThat(server.sessions().find(key("i-artifact"))).isPresent();
        assertThat(server.sessions().find(key("i-young"))).isPresent();
        assertThat(server.sessions().find(key("talk"))).isPresent();
    }

    @Test
    void whoeverAskedIsToldOnceWhenASessionGoesDown() throws InterruptedException {
        AtomicInteger told = new AtomicInteger();
        CountDownLatch paused = new CountDownLatch(1);
        try (Session session = server.resolve("down")) {
            session.whenDown(() -> {
                told.incrementAndGet();
                paused.countDown();
            });
            session.whenDown(told::incrementAndGet).close();
            server.sessions().pause(key("down"));
            assertThat(paused.await(30, TimeUnit.SECONDS)).isTrue();
            CountDownLatch already = new CountDownLatch(1);
            session.whenDown(already::countDown);
            assertThat(already.await(30, TimeUnit.SECONDS)).isTrue();
        }
        server.resolve("down").close();
        server.sessions().stop(key("down"));
        assertThat(told).hasValue(1);
    }

    @Test
    void stoppingRollingBackAndRemovingAreToldToo() throws InterruptedException {
        CountDownLatch rolledBack = new CountDownLatch(1);
        CountDownLatch stopped = new CountDownLatch(1);
        CountDownLatch removed = new CountDownLatch(1);
        try (Session session = server.resolve("ends")) {
            session.beginTurn("me");
            server.sessions().turns().checkpoint(session);
            session.whenDown(rolledBack::countDown);
            server.sessions().rollback(key("ends"), 1, "me");
            assertThat(rolledBack.await(30, TimeUnit.SECONDS)).isTrue();
            session.whenDown(stopped::countDown);
            assertThat(run(session, "echo up again")).isEqualTo("up again");
            assertThat(stopped.getCount()).isOne();
            server.sessions().stop(key("ends"));
            assertThat(stopped.await(30, TimeUnit.SECONDS)).isTrue();
        }
        try (Session session = server.resolve("ends")) {
            session.whenDown(removed::countDown);
            server.sessions().delete(key("ends"));
            assertThat(removed.await(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void whatASessionWithAnExpiryUsesIsMeasuredUntilItIsGone() {
        Expiry expiry = new Expiry(Duration.ofMinutes(5), Expiry.Then.DELETE, false);
        server.sessions().create(key("measured"), SPEC.withExpiry(expiry)).close();
        server.resolve("conversation").close();
        await(
                "a sample",
                () -> !server.sessions().samples(key("measured")).samples().isEmpty());
        UsageHistory.Sample sample =
                server.sessions().samples(key("measured")).samples().getFirst();
        assertThat(sample.usage().memoryBytes()).isPositive();
        assertThat(sample.at()).isBetween(Instant.now().minusSeconds(60), Instant.now());
        assertThat(server.sessions().samples(key("conversation")).samples()).isEmpty();
        server.sessions().delete(key("measured"));
        assertThat(server.sessions().samples(key("measured")).samples()).isEmpty();
    }

    @Test
    void samplesAreKeptOfTheLastHourOnly() {
        Expiry expiry = new Expiry(Duration.ofMinutes(5), Expiry.Then.DELETE, false);
        try (Session session = server.sessions().create(key("ring"), SPEC.withExpiry(expiry))) {
            AtomicReference<Instant> now = new AtomicReference<>(Instant.ofEpochSecond(1_000_000));
            Map<SessionKey, Live> lives = new HashMap<>(Map.of(key("ring"), session.live()));
            Samples samples = new Samples(lives, now::get);
            for (int i = 0; i < 1000; i++) {
                now.set(now.get().plus(Samples.INTERVAL));
                samples.take();
            }
            List<UsageHistory.Sample> kept = samples.of(key("ring")).samples();
            assertThat(kept).hasSize(720);
            assertThat(kept.getLast().at()).isEqualTo(now.get());
            assertThat(kept.getFirst().at()).isEqualTo(now.get().minus(Samples.INTERVAL.multipliedBy(719)));
            assertThat(kept).extracting(UsageHistory.Sample::at).isSorted();
            lives.clear();
            now.set(now.get().plus(Duration.ofMinutes(61)));
            samples.take();
            assertThat(samples.of(key("ring")).samples()).isEmpty();
        }
    }

    @Test
    void oneSessionThatCannotBeMeasuredDoesNotKeepTheOthersFromIt() {
        Expiry expiry = new Expiry(Duration.ofMinutes(5), Expiry.Then.DELETE, false);
        try (Session good = server.sessions().create(key("good"), SPEC.withExpiry(expiry))) {
            Sandbox broken = CuttingProvider.before(Sandbox.class, good.sandbox(), "usage", () -> {
                throw new IllegalStateException("no");
            });
            Map<SessionKey, Live> lives = new LinkedHashMap<>();
            lives.put(key("bad"), new Live(good.info(), broken));
            lives.put(key("good"), good.live());
            Samples samples = new Samples(lives, InstantSource.system());
            samples.take();
            assertThat(samples.of(key("bad")).samples()).isEmpty();
            assertThat(samples.of(key("good")).samples()).hasSize(1);
        }
    }

    @Test
    void theSamplesOfASessionThatIsRemovedWhileItIsMeasuredDoNotComeBack() {
        Expiry expiry = new Expiry(Duration.ofMinutes(5), Expiry.Then.DELETE, false);
        try (Session session = server.sessions().create(key("revived"), SPEC.withExpiry(expiry))) {
            Map<SessionKey, Live> lives = new ConcurrentHashMap<>();
            Sandbox sandbox = CuttingProvider.before(Sandbox.class, session.sandbox(), "usage", lives::clear);
            lives.put(key("revived"), new Live(session.info(), sandbox));
            Samples samples = new Samples(lives, InstantSource.system());
            samples.take();
            assertThat(samples.of(key("revived")).samples()).isEmpty();
        }
    }

    private static List<String> ids(SessionQuery query) {
        return server.sessions().list(query).stream()
                .map(session -> session.key().id())
                .toList();
    }
}
