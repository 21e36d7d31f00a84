package dev.berth.session.job;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.EventFollower;
import dev.berth.session.IdlePolicy;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.TestingSessions;
import dev.berth.session.job.JobOutput.Chunk;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Jobs in real sandboxes. Needs root and crun. */
@Timeout(300)
class JobsTest {
    private final TestingSessions berth = new TestingSessions();
    private SandboxProvider provider = berth.machine().provider();
    private Jobs jobs = open(JobsConfig.DEFAULT);

    private Jobs open(JobsConfig config) {
        return Jobs.open(config, berth.sessions(), provider, berth.database(), JobListener.NONE);
    }

    @AfterEach
    void close() {
        jobs.close();
        berth.close();
    }

    private Job start(String session, String command) {
        try (Session up = berth.resolve(session)) {
            return jobs.start(up, new JobRequest(command, Command.shell(command), "test", Optional.empty()));
        }
    }

    private Job ended(Job job) {
        await("job " + job.command(), () -> !now(job).running());
        return now(job);
    }

    private Job now(Job job) {
        return jobs.find(job.id()).orElseThrow();
    }

    static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited in vain: " + what).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private String printed(Job job, String stream) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        long after = 0;
        while (true) {
            JobOutput page = jobs.output(job.id(), after, 7);
            for (Chunk chunk : page.chunks()) {
                if (chunk.stream().equals(stream)) {
                    assertThat(chunk.offset()).isEqualTo(all.size());
                    all.writeBytes(chunk.bytes());
                }
            }
            after = page.next();
            if (page.chunks().isEmpty()) {
                return all.toString(UTF_8);
            }
        }
    }

    private List<LoggedEvent> events(String session) {
        List<LoggedEvent> all = new ArrayList<>();
        long after = 0;
        for (var page = read(session, after); !page.isEmpty(); page = read(session, after)) {
            all.addAll(page);
            after = page.getLast().seq();
        }
        return all;
    }

    private List<LoggedEvent> read(String session, long after) {
        return berth.sessions().events().read(TestingSessions.key(session), after, 100);
    }

    // ---- how they end --------------------------------------------------------------------------------------------

    @Test
    void aJobRunsOnWithItsOutputAndItsExitCodeWrittenDown() {
        Job job = start("one", "echo out; echo err >&2; sleep 0.3; echo more; exit 3");
        assertThat(job.state()).isEqualTo(JobState.RUNNING);
        Job end = ended(job);
        assertThat(end.state()).isEqualTo(JobState.FAILED);
        assertThat(end.exitCode()).hasValue(3);
        assertThat(end.error()).hasValue("it ended with exit code 3");
        assertThat(printed(job, "stdout")).isEqualTo("out\nmore\n");
        assertThat(printed(job, "stderr")).isEqualTo("err\n");
        assertThat(jobs.output(job.id(), 0, 100).complete()).isTrue();
        assertThat(events("one").stream().map(LoggedEvent::type).filter(type -> type.startsWith("job")))
                .containsExactly("job.started", "job.ended");
        await("the sandbox forgets it", () -> {
            try (Session up = berth.resolve("one")) {
                return up.sandbox().commands().isEmpty();
            }
        });
    }

    @Test
    void stoppingEndsTheWholeGroupAndOneThatEndedByItselfKeepsItsCode() {
        Job stubborn =
                start("stop", "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo up; wait; sleep 60");
        await("it is up", () -> printed(stubborn, "stdout").equals("up\n"));
        Job stopped = jobs.stop(stubborn.id());
        assertThat(stopped.state()).isEqualTo(JobState.STOPPED);
        assertThat(stopped.exitCode()).hasValue(143);
        await("nothing of it is left", () -> {
            try (Session up = berth.resolve("stop")) {
                return up.sandbox().run(Command.of("pgrep", "sleep")).code() == 1;
            }
        });
        Job over = ended(start("stop", "exit 5"));
        assertThat(jobs.stop(over.id()).state()).isEqualTo(JobState.FAILED);
        assertThat(jobs.stop(over.id()).exitCode()).hasValue(5);
        assertThatThrownBy(() -> jobs.stop("job_none")).isInstanceOf(SandboxException.class);
    }

    @Test
    void aTimeoutAndASignalAreFailures() {
        try (Session up = berth.resolve("ends")) {
            Job late = jobs.start(
                    up,
                    new JobRequest(
                            "late",
                            Command.shell("sleep 60").withTimeout(Duration.ofMillis(300)),
                            "test",
                            Optional.empty()));
            Job killed = start("ends", "kill -9 $$");
            assertThat(ended(late).error().orElse("")).contains("longer than its timeout");
            assertThat(now(late).exitCode()).hasValue(137);
            assertThat(ended(killed).error().orElse("")).contains("signal 9");
        }
    }

    @Test
    void whatCannotBeStartedIsSettledAndTold() {
        try (Session up = berth.resolve("none")) {
            assertThatThrownBy(() -> jobs.start(
                            up, new JobRequest("none", Command.of("/no/such/program"), "test", Optional.empty())))
                    .isInstanceOf(SandboxException.class);
        }
        Job job = jobs.list(TestingSessions.key("none"), Optional.empty(), 10).getFirst();
        assertThat(job.state()).isEqualTo(JobState.FAILED);
        assertThat(job.error().orElse("")).startsWith("it could not be started");
    }

    @Test
    void noMoreThanTenRunAtATimeHoweverManyAreAskedForAtOnce() throws Exception {
        try (Session _ = berth.resolve("many")) {
            List<Thread> threads = new ArrayList<>();
            List<ErrorCode> refused = java.util.Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < 25; i++) {
                threads.add(Thread.startVirtualThread(() -> {
                    try {
                        start("many", "sleep 60");
                    } catch (SandboxException e) {
                        refused.add(e.code());
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(refused).hasSize(15).containsOnly(ErrorCode.LIMIT);
            assertThat(jobs.list(TestingSessions.key("many"), Optional.of(JobState.RUNNING), 100))
                    .hasSize(10);
        }
    }

    @Test
    void jobsEndWithTheirSandbox() {
        Job stopped = start("down", "sleep 60");
        berth.sessions().stop(TestingSessions.key("down"));
        assertThat(ended(stopped).state()).isEqualTo(JobState.FAILED);
        assertThat(now(stopped).exitCode()).hasValue(137);
        assertThat(now(stopped).error().orElse("")).contains("sandbox");
        Job deleted = start("down", "sleep 60");
        berth.sessions().delete(TestingSessions.key("down"));
        assertThat(ended(deleted).exitCode()).hasValue(137);
        Job rolledBack = start("down", "sleep 60");
        try (Session up = berth.resolve("down")) {
            up.beginTurn("test");
            berth.sessions().turns().checkpoint(up);
        }
        berth.sessions().rollback(TestingSessions.key("down"), 1, "test");
        assertThat(ended(rolledBack).state()).isEqualTo(JobState.FAILED);
        assertThat(berth.state("down")).isEqualTo(SessionState.ACTIVE);
    }

    // ---- over time -----------------------------------------------------------------------------------------------

    @Test
    void aPausedSessionsJobIsFrozenAndGoesOnAndTheLadderWaitsForJobs() throws Exception {
        Job job = start("frozen", "for i in $(seq 20); do echo $i; sleep 0.1; done");
        await("it prints", () -> !printed(job, "stdout").isEmpty());
        SessionKey key = TestingSessions.key("frozen");
        berth.sessions().pause(key);
        String before = printed(job, "stdout");
        jobs.settle();
        Thread.sleep(500); // time in which it would print more
        assertThat(now(job).running()).isTrue();
        assertThat(printed(job, "stdout").length() - before.length()).isLessThan(8);
        berth.sessions().resolve(key).close();
        assertThat(ended(job).state()).isEqualTo(JobState.COMPLETED);
        assertThat(printed(job, "stdout").lines()).hasSize(20);
        berth.sessions().idle(key, IdlePolicy.NEVER.pauseAfter(Duration.ofMillis(10)));
        Job holding = start("frozen", "sleep 1");
        while (now(holding).running()) {
            assertThat(berth.state("frozen")).isEqualTo(SessionState.ACTIVE);
            Thread.sleep(50);
        }
    }

    @Test
    void anotherServerReadsOnExactlyWhereTheOneBeforeEnded() {
        Job job = start("again", "for i in $(seq 400); do echo line $i é; sleep 0.005; done; echo end >&2");
        for (int i = 0; i < 4; i++) {
            long seen = now(job).outputBytes();
            await("it prints more", () -> now(job).outputBytes() > seen || !now(job).running());
            jobs.close();
            berth.restart();
            provider = berth.machine().provider();
            jobs = open(JobsConfig.DEFAULT);
        }
        assertThat(ended(job).state()).isEqualTo(JobState.COMPLETED);
        StringBuilder expected = new StringBuilder();
        for (int i = 1; i <= 400; i++) {
            expected.append("line ").append(i).append(" é\n");
        }
        assertThat(printed(job, "stdout")).isEqualTo(expected.toString());
        assertThat(printed(job, "stderr")).isEqualTo("end\n");
    }

    @Test
    void aJobThatEndsWhileItsServerLeavesIsSettledByTheNext() throws Exception {
        Job job = start("leaving", "until [ -e ~/go ]; do sleep 0.02; done; echo over");
        Thread leaving = Thread.ofPlatform().unstarted(jobs::close);
        berth.database().transaction(handle -> {
            // What it prints cannot be written down while this holds its row.
            handle.execute("SELECT id FROM jobs WHERE id = ? FOR UPDATE", job.id());
            try (Session up = berth.resolve("leaving")) {
                up.sandbox().files().write("go", new ByteArrayInputStream(new byte[0]));
                await(
                        "it ended",
                        () -> up.sandbox().commands().stream()
                                .allMatch(it -> it.exit().isPresent()));
            }
            leaving.start();
            await("its server leaves", () -> leaving.getState() == Thread.State.TIMED_WAITING);
            return job;
        });
        leaving.join();
        jobs = open(JobsConfig.DEFAULT);
        assertThat(ended(job).state()).as(now(job).error().orElse("")).isEqualTo(JobState.COMPLETED);
        assertThat(printed(job, "stdout")).isEqualTo("over\n");
    }

    @Test
    void aJobThatEndedWhileNoServerWasThereIsSettledByTheNext() {
        Job job = start("away", "sleep 0.5; echo late; exit 4");
        Job lost = start("stopped-away", "sleep 60");
        jobs.close();
        berth.sessions().stop(TestingSessions.key("stopped-away"));
        try (Session up = berth.resolve("away")) {
            await(
                    "it ended",
                    () -> up.sandbox().commands().stream()
                            .allMatch(it -> it.exit().isPresent()));
        }
        jobs = open(JobsConfig.DEFAULT);
        assertThat(ended(job).exitCode()).hasValue(4);
        assertThat(printed(job, "stdout")).isEqualTo("late\n");
        assertThat(ended(lost).exitCode()).hasValue(137);
    }

    @Test
    void resultsAreRemovedWhenTheirTimeIsOver() {
        Job job = ended(start("old", "echo x"));
        jobs.settle();
        assertThat(jobs.find(job.id())).isPresent();
        jobs.close();
        jobs = open(JobsConfig.DEFAULT.withKept(Duration.ZERO));
        jobs.settle();
        assertThat(jobs.find(job.id())).isEmpty();
    }

    // ---- output --------------------------------------------------------------------------------------------------

    @Test
    void anyBytesComeThroughAsTextWhereTheyAreTextAndAsBase64WhereNot() {
        Job started = start(
                "bytes",
                "next() { until [ -e ~/$1 ]; do sleep 0.02; done; }; printf 'a\\0b'; next 1; printf '\\xff\\xfe'; next 2;"
                        + " printf 'é\\xc3'; next 3; printf '\\xa9'");
        // Each is printed when the one before was written down, but for what may be the beginning of a character.
        int[] written = {3, 4, 7};
        for (int i = 0; i < written.length; i++) {
            int before = written[i];
            await("what is printed is written down", () -> now(started).outputBytes() >= before);
            try (Session up = berth.resolve("bytes")) {
                up.sandbox().files().write(Integer.toString(i + 1), new ByteArrayInputStream(new byte[0]));
            }
        }
        Job job = ended(started);
        List<LoggedEvent> output = events("bytes").stream()
                .filter(event -> event.type().equals("output"))
                .toList();
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (LoggedEvent event : output) {
            Object text = event.data().get("text");
            all.writeBytes(
                    text == null
                            ? Base64.getDecoder()
                                    .decode(String.valueOf(event.data().get("base64")))
                            : text.toString().getBytes(UTF_8));
        }
        assertThat(all.toByteArray()).isEqualTo(new byte[] {
            'a', 0, 'b', (byte) 0xff, (byte) 0xfe, (byte) 0xc3, (byte) 0xa9, (byte) 0xc3, (byte) 0xa9
        });
        assertThat(output.getFirst().data()).containsKey("base64");
        assertThat(output.getLast().data()).containsEntry("text", "é");
        assertThat(job.outputBytes()).isEqualTo(9);
    }

    @Test
    void whoComesBackAHundredTimesToTheEventsSeesEveryByteOnce() throws Exception {
        Job job = start("hundred", "for i in $(seq 1000); do echo $i; sleep 0.003; done");
        StringBuilder seen = new StringBuilder();
        long last = 0;
        boolean over = false;
        for (int i = 0; i < 100 || !over; i++) {
            try (EventFollower follower = berth.sessions().events().follow(job.key(), last)) {
                List<LoggedEvent> events = follower.next(Duration.ofMillis(20));
                // Only one of them: the others are lost on the way.
                if (!events.isEmpty()) {
                    LoggedEvent event = events.getFirst();
                    assertThat(event.seq()).isEqualTo(last + 1);
                    last = event.seq();
                    if (event.type().equals("output")) {
                        seen.append(event.data().get("text"));
                    }
                    over = event.type().equals("job.ended");
                }
            }
        }
        StringBuilder expected = new StringBuilder();
        for (int i = 1; i <= 1000; i++) {
            expected.append(i).append('\n');
        }
        assertThat(seen.toString()).isEqualTo(expected.toString());
    }

    @Test
    void aFloodIsBoundedInTheDatabaseAndInMemory() {
        jobs.close();
        jobs = open(JobsConfig.DEFAULT.withOutput(1 << 20));
        System.gc();
        long before = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        Job job = start("flood", "yes 0123456789abcde | head -c 100M");
        long slowest = 0;
        long most = 0;
        while (now(job).running()) {
            long began = System.nanoTime();
            try (Session up = berth.resolve("beside")) {
                assertThat(up.sandbox().run(Command.of("true")).code()).isZero();
            }
            slowest = Math.max(slowest, System.nanoTime() - began);
            most = Math.max(
                    most,
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() - before);
        }
        assertThat(now(job).state()).isEqualTo(JobState.COMPLETED);
        assertThat(now(job).outputBytes()).isEqualTo(100L << 20);
        assertThat(now(job).droppedBytes()).isBetween(98L << 20, 100L << 20);
        System.gc();
        assertThat(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() - before)
                .isLessThan(32L << 20);
        assertThat(TimeUnit.NANOSECONDS.toMillis(slowest)).isLessThan(20_000);
        String kept = String.join(
                "",
                jobs.output(job.id(), 0, 1000).chunks().stream()
                        .map(chunk -> new String(chunk.bytes(), UTF_8))
                        .toList());
        assertThat(kept.length()).isLessThanOrEqualTo((1 << 20) + (64 << 10)).isGreaterThan(900_000);
        assertThat(events("flood").stream()
                        .filter(event -> event.type().equals("output"))
                        .toList())
                .anySatisfy(event -> assertThat(event.data()).containsEntry("dropped", true))
                .last()
                .satisfies(event -> assertThat(event.data()).containsKey("text"));
    }

    // ---- providers that cannot tell ------------------------------------------------------------------------------

    /** The same provider, which says that it cannot attach again. */
    private static SandboxProvider forgetful(SandboxProvider real) {
        Set<Capability> fewer = EnumSet.copyOf(real.capabilities());
        fewer.remove(Capability.REATTACH);
        return (SandboxProvider) Proxy.newProxyInstance(
                SandboxProvider.class.getClassLoader(),
                new Class<?>[] {SandboxProvider.class},
                (_, method, arguments) -> {
                    try {
                        return method.getName().equals("capabilities") ? fewer : method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aJobWhoseProviderCannotTellReportsByItsToken() {
        jobs.close();
        provider = forgetful(provider);
        jobs = open(JobsConfig.DEFAULT.withAddress(Optional.of(java.net.URI.create("https://berth.example"))));
        Job job = start("token", "echo $BERTH_JOB_URL; echo $BERTH_JOB_TOKEN; sleep 60");
        await("it told", () -> printed(job, "stdout").lines().count() == 2);
        List<String> told = printed(job, "stdout").lines().toList();
        assertThat(told.getFirst()).isEqualTo("https://berth.example/sandbox-jobs/" + job.id() + "/complete");
        String token = told.getLast();
        jobs.close();
        jobs = open(JobsConfig.DEFAULT);
        jobs.settle();
        assertThat(now(job).running()).isTrue();
        assertThat(jobs.report(job.id(), "wrong", 0, Optional.empty(), "")).isEqualTo(Jobs.Reported.UNKNOWN);
        assertThat(jobs.report("job_none", token, 0, Optional.empty(), "")).isEqualTo(Jobs.Reported.UNKNOWN);
        assertThat(jobs.report(job.id(), token, 7, Optional.of("it broke"), "")).isEqualTo(Jobs.Reported.ACCEPTED);
        assertThat(jobs.report(job.id(), token, 0, Optional.empty(), "")).isEqualTo(Jobs.Reported.SETTLED);
        assertThat(now(job).exitCode()).hasValue(7);
        assertThat(now(job).error()).hasValue("it broke");
    }
}
