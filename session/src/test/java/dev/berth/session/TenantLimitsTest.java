package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.TestingSessions.SPEC;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a tenant may use in sum. Needs root and crun. */
class TenantLimitsTest {
    private static final TenantLimits STRICT = TenantLimits.DEFAULT.withMakesRoom(false);

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
    void oneLiveSessionTooManyIsRefusedWithWhatIsUsedAndWhatIsAllowed() {
        server.sessions().tenant("two", STRICT.withLive(2));
        resolve("two", "a").close();
        resolve("two", "b").close();
        assertFails(ErrorCode.LIMIT, () -> resolve("two", "c"), e -> {
            assertThat(e.getMessage()).contains("2 live sessions, of 2 allowed");
            assertThat(e.details())
                    .containsEntry(SandboxException.LIMIT, "sessions")
                    .containsEntry(SandboxException.USED, 2L)
                    .containsEntry(SandboxException.ALLOWED, 2L);
        });
        assertThat(server.sessions().find(SessionKey.of("two", "c"))).isEmpty();

        server.sessions().pause(SessionKey.of("two", "a"));
        resolve("two", "c").close();
        assertFails(ErrorCode.LIMIT, () -> resolve("two", "a"));
        assertThat(server.sessions()
                        .find(SessionKey.of("two", "a"))
                        .orElseThrow()
                        .state())
                .isEqualTo(SessionState.PAUSED);
        resolve("two", "b").close();
    }

    @Test
    void theLeastRecentlyUsedIdleSessionMakesRoomAndOneInUseDoesNot() {
        server.sessions().tenant("room", TenantLimits.DEFAULT.withLive(3));
        resolve("room", "first").close();
        try (Session used = resolve("room", "used")) {
            resolve("room", "second").close();
            resolve("room", "third").close();
            assertThat(state("room", "first")).isEqualTo(SessionState.PAUSED);
            resolve("room", "fourth").close();
            assertThat(state("room", "second")).isEqualTo(SessionState.PAUSED);
            assertThat(state("room", "used")).isEqualTo(SessionState.ACTIVE);
            assertThat(TestingSessions.run(used, "echo up")).isEqualTo("up");
        }
    }

    @Test
    void noRoomIsMadeForASessionThatIsThereAlready() {
        server.sessions().tenant("there", TenantLimits.DEFAULT.withLive(1));
        SessionKey paused = SessionKey.of("there", "paused");
        server.sessions().create(paused, SPEC).close();
        server.sessions().pause(paused);
        resolve("there", "up").close();
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().create(paused, SPEC));
        assertThat(state("there", "up")).isEqualTo(SessionState.ACTIVE);
        server.sessions().tenant("there", STRICT.withLive(1));
        assertFails(ErrorCode.CONFLICT, () -> server.sessions().create(paused, SPEC));
    }

    @Test
    void whenAllAreInUseThereIsNoRoom() {
        server.sessions().tenant("busy", TenantLimits.DEFAULT.withLive(1));
        try (Session used = resolve("busy", "used")) {
            assertFails(ErrorCode.LIMIT, () -> resolve("busy", "more"));
            assertThat(TestingSessions.run(used, "echo up")).isEqualTo("up");
        }
        resolve("busy", "more").close();
        assertThat(state("busy", "used")).isEqualTo(SessionState.PAUSED);
    }

    @Test
    void memoryCountsInSum() {
        server.sessions().tenant("memory", STRICT.withMemory(3 * (256L << 20)));
        SessionSpec small = SPEC.withLimits(Limits.DEFAULT.withMemory(256 << 20));
        resolve("memory", "a", small).close();
        resolve("memory", "b", small).close();
        assertFails(
                ErrorCode.LIMIT,
                () -> resolve("memory", "c"),
                e -> assertThat(e.details()).containsEntry(SandboxException.LIMIT, "memory_bytes"));
        resolve("memory", "c", small).close();
    }

    @Test
    void sandboxesMadeWithinAMinuteAreCounted() {
        server.sessions().tenant("eager", STRICT.withCreatedPerMinute(2));
        resolve("eager", "a").close();
        server.sessions().delete(SessionKey.of("eager", "a"));
        resolve("eager", "b").close();
        assertFails(
                ErrorCode.LIMIT,
                () -> resolve("eager", "c"),
                e -> assertThat(e.details()).containsEntry(SandboxException.LIMIT, "created_per_minute"));
        resolve("eager", "b").close();
    }

    @Test
    void diskCountsInSumAsLastMeasured() {
        server.sessions().tenant("disk", STRICT.withDisk(4 << 20));
        try (Session session = resolve("disk", "a")) {
            TestingSessions.run(session, "head -c 8M /dev/urandom > ~/big; sync");
        }
        server.sessions().pause(SessionKey.of("disk", "a"));
        assertThat(server.sessions()
                        .find(SessionKey.of("disk", "a"))
                        .orElseThrow()
                        .diskBytes())
                .isGreaterThan(8 << 20);
        assertFails(
                ErrorCode.LIMIT,
                () -> resolve("disk", "b"),
                e -> assertThat(e.details()).containsEntry(SandboxException.LIMIT, "disk_bytes"));
        resolve("disk", "a").close();
    }

    @Test
    void anUnknownTenantIsNotFound() {
        assertFails(ErrorCode.NOT_FOUND, () -> resolve("nobody", "a"));
    }

    @Test
    void changedLimitsHoldAtOnceAndForEver() {
        SessionKey key = SessionKey.of("default", "resized");
        try (Session session = server.resolve("resized")) {
            server.sessions().limit(key, Limits.DEFAULT.withMemory(64 << 20));
            assertThat(session.sandbox().limits().memoryBytes()).isEqualTo(64 << 20);
        }
        server.sandbox("resized").orElseThrow().destroy();
        try (Session session = server.resolve("resized")) {
            assertThat(session.sandbox().limits().memoryBytes()).isEqualTo(64 << 20);
        }
    }

    private static Session resolve(String tenant, String id) {
        return resolve(tenant, id, SPEC);
    }

    private static Session resolve(String tenant, String id, SessionSpec spec) {
        return server.sessions().resolve(SessionKey.of(tenant, id), spec);
    }

    private static SessionState state(String tenant, String id) {
        return server.sessions().find(SessionKey.of(tenant, id)).orElseThrow().state();
    }
}
