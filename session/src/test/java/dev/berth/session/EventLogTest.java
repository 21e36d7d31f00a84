package dev.berth.session;

import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.key;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

/** The events of a session, in order and without gaps. Needs root and crun. */
class EventLogTest {
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
    void tellsTheLifeOfASessionInOrder() {
        server.run("life", "true");
        server.sessions().pause(key("life"));
        server.run("life", "true");
        server.sessions().delete(key("life"));
        assertThat(read("life").stream().map(LoggedEvent::type))
                .containsExactly(
                        "sandbox.resolve.create",
                        "sandbox.active",
                        "sandbox.pausing",
                        "sandbox.pause",
                        "sandbox.resume",
                        "session.delete.requested",
                        "sandbox.delete",
                        "sandbox.destroyed");
        assertNumbered("life");
    }

    @Test
    void runsAreWrittenDownWithoutTheTextOfTheCommand() {
        MDC.put(SessionTable.CORRELATION, "request-7");
        try (Session session = server.resolve("audit")) {
            session.record(new Session.Run(
                    "ann", "bash", Optional.of("curl -H 'Token: secret'"), OptionalInt.of(3), Duration.ofMillis(12)));
        } finally {
            MDC.remove(SessionTable.CORRELATION);
        }
        await(
                "written",
                () -> read("audit").stream().anyMatch(event -> event.type().equals("tool.run")));
        LoggedEvent run = read("audit").getLast();
        assertThat(run.actor()).isEqualTo("ann");
        assertThat(run.correlation()).contains("request-7");
        assertThat(run.data()).containsEntry("what", "bash").containsEntry("exit_code", 3);
        assertThat(run.toString()).doesNotContain("secret");
    }

    @Test
    void allFollowersSeeEverythingOnceInOrderFromWhereTheyBegan() throws InterruptedException {
        server.run("followed", "true");
        EventLog log = server.sessions().events();
        try (EventFollower fromTheStart = log.follow(key("followed"), 0);
                EventFollower fromTheThird = log.follow(key("followed"), 3);
                EventFollower fromTheFuture = log.follow(key("followed"), 1_000_000)) {
            assertThat(fromTheFuture.next(Duration.ZERO)).isEmpty();
            List<Long> start = new ArrayList<>();
            List<Long> third = new ArrayList<>();
            for (int i = 1; i <= 300; i++) { // some small, some larger than what is kept for all
                String text = "x".repeat(i % 50 == 0 ? 100_000 : 300);
                log.append(key("followed"), new SessionEvent("output", "test", Map.of("text", text)));
                if (i % 100 == 0) {
                    long last = i + 2L; // two for its start
                    follow(fromTheStart, start, last);
                    follow(fromTheThird, third, last);
                }
            }
            assertThat(start).isEqualTo(LongStream.rangeClosed(1, 302).boxed().toList());
            assertThat(third).isEqualTo(LongStream.rangeClosed(4, 302).boxed().toList());
            assertThat(fromTheFuture.next(Duration.ZERO)).isEmpty();
        }
    }

    private static void follow(EventFollower follower, List<Long> seen, long last) throws InterruptedException {
        while (seen.isEmpty() || seen.getLast() < last) {
            follower.next(Duration.ofSeconds(20)).forEach(event -> seen.add(event.seq()));
        }
    }

    @Test
    void theTextIsKeptWhereTheOperatorWantsIt() {
        try (TestingSessions audited = new TestingSessions(config -> config.withAuditCommands(true))) {
            try (Session session = audited.resolve("audit")) {
                session.record(
                        new Session.Run("ann", "bash", Optional.of("make all"), OptionalInt.empty(), Duration.ZERO));
            }
            await(
                    "written",
                    () -> audited.sessions().events().read(key("audit"), 0, 100).stream()
                            .anyMatch(event -> "make all".equals(event.data().get("command"))));
        }
    }

    @Test
    void manyWritersLeaveNoGapAndAReaderMissesNothing() throws InterruptedException {
        server.run("many", "true");
        List<Thread> writers = new ArrayList<>();
        for (int writer = 0; writer < 8; writer++) {
            String name = "writer-" + writer;
            writers.add(Thread.ofVirtual().start(() -> {
                for (int i = 0; i < 50; i++) {
                    server.sessions()
                            .events()
                            .append(
                                    key("many"),
                                    SessionEvent.of("test").by(name).with("n", i));
                }
            }));
        }
        List<LoggedEvent> seen = new ArrayList<>();
        await("all seen", () -> {
            long after = seen.isEmpty() ? 0 : seen.getLast().seq();
            seen.addAll(server.sessions().events().read(key("many"), after, 7));
            return seen.stream().filter(event -> event.type().equals("test")).count() == 400;
        });
        for (Thread writer : writers) {
            writer.join();
        }
        assertThat(seen.stream().map(LoggedEvent::seq))
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, seen.size()).boxed().toList());
        assertThat(seen.stream()
                        .filter(event -> event.actor().equals("writer-3"))
                        .map(event -> event.data().get("n")))
                .as("each writer's own order")
                .containsExactlyElementsOf(
                        java.util.stream.IntStream.range(0, 50).boxed().toList());
    }

    private static List<LoggedEvent> read(String id) {
        return server.sessions().events().read(key(id), 0, 1000);
    }

    private static void assertNumbered(String id) {
        List<LoggedEvent> events = read(id);
        assertThat(events.stream().map(LoggedEvent::seq))
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, events.size()).boxed().toList());
        assertThat(server.info(id).lastEvent()).isEqualTo(events.size());
    }
}
