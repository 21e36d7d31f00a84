package dev.berth.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.KeyModel.Kind;
import dev.berth.session.KeyModel.Operation;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * A server under mixed load is killed with -9 at random moments, and started again. Needs root and crun.
 *
 * <p>The short run is one of the tests. The long one is
 *
 * <pre>
 * ./berth test -- -pl session -am -Dtest=KillTest -Dberth.kill.count=100 -Dsurefire.failIfNoSpecifiedTests=false
 * </pre>
 *
 * The seed of a run is printed; {@code -Dberth.kill.seed} gives the same load and the same moments again, as far as the
 * machine's own timing lets it.
 */
@SuppressWarnings("SystemOut") // a long run tells how far it is, and every run its seed
class KillTest {
    private static final int KEYS = 50;
    /** These get half of the load, so that operations of one key meet. */
    private static final int HOT = 6;

    private static final int AT_ONCE = 12;
    private static final int MOST_QUESTIONS = 200;
    private static final Duration LONGEST = Duration.ofSeconds(20);
    private static final Duration TO_START = Duration.ofSeconds(90);

    private final long seed = Long.getLong("berth.kill.seed", new Random().nextLong());
    private final int kills = Integer.getInteger("berth.kill.count", 10);
    private final int checkEvery = Integer.getInteger("berth.kill.check", 10);
    private final boolean archiving = Boolean.parseBoolean(System.getProperty("berth.kill.archive", "true"));

    private final Random random = new Random(seed);
    /** Apart, so that the moments do not depend on how much was asked. */
    private final Random moments = new Random(~seed);

    private final Path data;
    /** The models, and who is asked what. Guarded by {@code lock}. */
    private final Object lock = new Object();

    private final List<KeyModel> models = new ArrayList<>();
    private final Map<Long, Integer> asked = new HashMap<>();
    private final Map<String, Integer> answers = new TreeMap<>();
    private final List<String> bugs = new ArrayList<>();
    private long operations;

    KillTest() throws IOException {
        data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        // As the server has it: PostgreSQL's user can pass it.
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
        for (int key = 0; key < KEYS; key++) {
            models.add(new KeyModel());
        }
    }

    @Test
    void aServerKilledAtRandomMomentsLosesNothingAndLeavesNothingBehind() throws Exception {
        String run = "kill test with -Dberth.kill.seed=" + seed + " -Dberth.kill.count=" + kills;
        System.out.println(run);
        boolean done = false;
        try {
            for (int kill = 1; kill <= kills; kill++) {
                killOnce();
                if (kill % checkEvery == 0 || kill == kills) {
                    check(kill == kills);
                    System.out.println(run + ": " + kill + " kills, " + answers);
                }
            }
            done = true;
        } catch (Exception | AssertionError e) {
            throw new AssertionError(run + " failed; what the servers said is in " + keepLog(), e);
        } finally {
            clearAway(done);
        }
    }

    // ---- killing -------------------------------------------------------------------------------------------------

    private void killOnce() throws IOException, InterruptedException {
        boolean early = moments.nextInt(5) == 0;
        // By the clock, which finds a slow machine still at its first operations, or by how much was asked.
        boolean byCount = moments.nextInt(3) == 0;
        int questions = byCount ? moments.nextInt(MOST_QUESTIONS) : Integer.MAX_VALUE;
        long moment = early ? moments.nextInt(2500) : byCount ? LONGEST.toMillis() : 50 + moments.nextInt(1950);
        Semaphore places = new Semaphore(AT_ONCE);
        CountDownLatch ready = new CountDownLatch(1);
        Process server = startServer();
        Thread reader = Thread.ofPlatform().start(() -> readAnswers(server, ready, places));
        try {
            if (early) {
                boolean _ = server.waitFor(moment, TimeUnit.MILLISECONDS);
            } else {
                boolean started = ready.await(TO_START.toSeconds(), TimeUnit.SECONDS);
                assertThat(started && server.isAlive()).as("the server started").isTrue();
                load(server, places, questions, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(moment));
            }
        } finally {
            boolean ended = !server.isAlive();
            // Not by the process itself, which would close the pipe with answers in it.
            server.toHandle().destroyForcibly();
            server.waitFor();
            reader.join();
            assertThat(ended).as("the server ended by itself").isFalse();
        }
        synchronized (lock) {
            models.forEach(KeyModel::killed);
            asked.clear();
            assertThat(bugs).as("failures of no known kind").isEmpty();
        }
    }

    private void load(Process server, Semaphore places, int most, long end) throws IOException, InterruptedException {
        Writer out = server.outputWriter(UTF_8);
        for (int n = 0; n < most && places.tryAcquire(end - System.nanoTime(), TimeUnit.NANOSECONDS); n++) {
            int key = random.nextBoolean() ? random.nextInt(HOT) : random.nextInt(KEYS);
            Operation operation;
            synchronized (lock) {
                operation = models.get(key).ask(++operations, kind(), random);
                asked.put(operation.number, key);
            }
            String what = operation.kind.name().toLowerCase(Locale.ROOT);
            out.write(operation.number + " " + what + " k" + key + " " + operation.arguments + "\n");
            out.flush();
        }
    }

    private Kind kind() {
        int die = random.nextInt(100);
        if (die < 40) {
            return Kind.EXEC;
        } else if (die < 50) {
            return Kind.WRITE;
        } else if (die < 53) {
            return Kind.RESOLVE;
        } else if (die < 62) {
            return Kind.PAUSE;
        } else if (die < 70) {
            return Kind.STOP;
        } else if (die < 78) {
            return archiving ? Kind.ARCHIVE : Kind.STOP;
        } else if (die < 90) {
            return Kind.CHECKPOINT;
        } else if (die < 94) {
            return Kind.ROLLBACK;
        }
        return Kind.DELETE;
    }

    /** Until the server is dead: what it wrote before is an answer, whenever it is read. */
    private void readAnswers(Process server, CountDownLatch ready, Semaphore places) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals("READY")) {
                    ready.countDown();
                } else if (line.startsWith("ACK ") || line.startsWith("ERR ")) {
                    answered(line.split(" ", 4));
                    places.release();
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } finally {
            ready.countDown();
        }
    }

    private void answered(String[] words) {
        long number = Long.parseLong(words[1]);
        synchronized (lock) {
            KeyModel model = models.get(Objects.requireNonNull(asked.remove(number)));
            boolean acknowledged = words[0].equals("ACK");
            if (words.length > 2 && words[2].equals("BUG")) {
                bugs.add(words[3]);
            }
            answers.merge(acknowledged ? "ACK" : words[0] + " " + words[2], 1, Integer::sum);
            if (acknowledged) {
                model.acknowledged(number, words.length > 2 ? words[2] : "");
            } else {
                model.refused(number);
            }
        }
    }

    private Process startServer() throws IOException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-Xshare:auto",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Djdk.virtualThreadScheduler.maxPoolSize=1024",
                        "-cp",
                        classPath,
                        KillServer.class.getName(),
                        data.toString(),
                        Boolean.toString(archiving))
                .redirectError(ProcessBuilder.Redirect.appendTo(log().toFile()))
                .start();
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    /** Starts the server once more, in this process, and looks whether everything is as it should be. */
    private void check(boolean last) throws IOException, InterruptedException {
        try (KillServer server = KillServer.open(data, archiving)) {
            KillServer.limitTo(server, Optional.empty());
            KillChecks checks = new KillChecks(data, server);
            Map<String, SessionInfo> rows = checks.rows();
            rows.values().forEach(row -> server.sessions().pin(row.key(), true));
            for (String spooled : checks.names("spool")) {
                // What may still be another server's work is left alone for hours.
                Files.setLastModifiedTime(
                        data.resolve("spool").resolve(spooled),
                        FileTime.from(Instant.now().minus(Duration.ofDays(1))));
            }
            server.sessions().sweep(); // what was asked to be deleted
            server.sessions().settle(); // an archive that nobody names is removed when it is seen twice
            checks.everythingBelongsToSomething();
            for (int key = 0; key < KEYS; key++) {
                hasItsFiles(server, key, checks.rows());
            }
            checks.everythingBelongsToSomething();
            if (last) {
                for (String id : checks.rows().keySet()) {
                    server.sessions().delete(TestingSessions.key(id));
                }
                checks.everythingBelongsToSomething();
                assertThat(checks.strings("SELECT session FROM checkpoints")).isEmpty();
                assertThat(checks.strings("SELECT session FROM sandboxes WHERE destroyed_at IS NULL"))
                        .isEmpty();
                for (String directory : List.of("boxes", "ids", "pool", "checkpoints", "spool")) {
                    assertThat(checks.names(directory)).as(directory).isEmpty();
                }
                InstantSource later = () -> Instant.now().plus(Duration.ofDays(1));
                DirectoryArchives.open(data.resolve("archives"), later).close();
                assertThat(checks.names("archives")).as("archives").isEmpty();
            } else {
                rows.values().forEach(row -> server.sessions().pin(row.key(), false));
            }
        }
    }

    private void hasItsFiles(KillServer server, int number, Map<String, SessionInfo> rows) throws InterruptedException {
        String id = "k" + number;
        KeyModel model = models.get(number);
        if (!rows.containsKey(id)) {
            assertThat(model.needsNothing())
                    .as(id + " is destroyed or was never made, and has files")
                    .isTrue();
            return;
        }
        try (Session session = resolve(server, id)) {
            String listing =
                    TestingSessions.run(session, "cd && for f in f*; do [ -e $f ] && echo $f $(cat $f); done; true");
            Map<String, String> found = new HashMap<>();
            listing.lines()
                    .map(line -> line.split(" ", 2))
                    .forEach(line -> found.put(line[0], line.length > 1 ? line[1] : ""));
            assertThat(model.judge(found))
                    .as("files of " + id + " " + new KillChecks(data, server).describe(session.info()))
                    .isEmpty();
        }
    }

    /** One that could not be brought up is tried again after a while, and says when. */
    private static Session resolve(KillServer server, String id) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            try {
                return server.sessions().resolve(TestingSessions.key(id), TestingSessions.SPEC);
            } catch (SandboxException e) {
                Object wait = e.details().get(SandboxException.RETRY_AFTER_MS);
                if (!(wait instanceof Long millis) || System.nanoTime() > deadline) {
                    throw e;
                }
                Thread.sleep(millis + 10);
            }
        }
    }

    // ---- afterwards ----------------------------------------------------------------------------------------------

    private Path log() {
        return data.resolve("server.log");
    }

    private Path keepLog() throws IOException {
        Path kept = Path.of("target", "kill-test-" + seed + ".log").toAbsolutePath();
        if (Files.exists(log())) {
            Files.copy(log(), kept, StandardCopyOption.REPLACE_EXISTING);
        }
        return kept;
    }

    private void clearAway(boolean mustBeClean) throws IOException {
        LocalProvider provider = LocalProvider.open(KillServer.config(data));
        provider.list().forEach(Sandbox::destroy);
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        provider.closeAndUnmount();
        if (mustBeClean) {
            TestMachine.assertNothingLeft(data);
            assertThat(processesIn(data))
                    .as("processes that work in the data directory")
                    .isEmpty();
        }
        TestingPostgres.remove(data);
    }

    /** PostgreSQL is one, whatever it calls itself. */
    private static List<String> processesIn(Path data) {
        return ProcessHandle.allProcesses()
                .map(process -> Path.of("/proc", Long.toString(process.pid()), "cwd"))
                .filter(link -> {
                    try {
                        return Files.readSymbolicLink(link).startsWith(data);
                    } catch (IOException e) {
                        return false; // it is gone, or the kernel's own
                    }
                })
                .map(Path::toString)
                .toList();
    }
}
