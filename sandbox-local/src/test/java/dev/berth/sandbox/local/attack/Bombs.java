package dev.berth.sandbox.local.attack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Command.WhenFull;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/**
 * Bombs: each takes as much of one thing as it can get. The victim runs into its limit, a neighbour's commands take at
 * most five times as long as just before, and nothing is left when the victim is destroyed.
 *
 * <p>The ratio is of medians within one test, and measured again a few times when the machine is busy with other things.
 */
interface Bombs {
    long MIB = 1024 * 1024;
    int SAMPLES = 30;
    int WORST = 5;
    int ATTEMPTS = 6;
    Duration PATIENCE = Duration.ofSeconds(60);

    /** As an operator would set them where sandboxes are not trusted. */
    Limits LIMITS = Limits.DEFAULT
            .withCpus(1)
            .withMemory(192 * MIB)
            .withPids(100)
            .withDisk(48 * MIB)
            .withOutput(256 * 1024);

    Siege siege();

    /** gVisor's own threads and memory count as the sandbox's, and it ends when it gets no more, so it needs more. */
    private Limits limits() {
        return can(Capability.PIDS_LIMIT) ? LIMITS : LIMITS.withPids(1000).withMemory(512 * MIB);
    }

    /** What is asserted about the victim while its bomb is on. */
    interface Check {
        void of(Sandbox victim, RunningCommand bomb) throws IOException;
    }

    private void explode(Command bomb, Check check) throws IOException {
        explode(limits(), bomb, check);
    }

    private void explode(Limits limits, Command bomb, Check check) throws IOException {
        Sandbox victim = siege().create(limits);
        try {
            long quiet = median();
            RunningCommand running = victim.start(bomb.withTimeout(PATIENCE));
            long loud = median();
            for (int i = 1; i < ATTEMPTS && loud > WORST * quiet; i++) {
                quiet = Math.max(quiet, medianWithout(victim));
                loud = median();
            }
            assertThat(Duration.ofNanos(loud)).isLessThanOrEqualTo(Duration.ofNanos(WORST * quiet));
            check.of(victim, running);
        } finally {
            victim.destroy();
        }
        assertThat(siege().machine().provider().find(victim.id())).isEmpty();
        assertThat(siege().neighbour().run(Command.of("echo", "alive")).stdout())
                .isEqualTo("alive\n");
        assertThat(heap()).as("the server's heap").isLessThan(512 * MIB);
    }

    /** What is held, not what was not collected yet. */
    private static long heap() {
        Runtime runtime = Runtime.getRuntime();
        if (runtime.totalMemory() - runtime.freeMemory() > 512 * MIB) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** While the bomb stands still: how long it takes for all else that this machine is busy with by now. */
    private long medianWithout(Sandbox victim) {
        if (victim.state() != SandboxState.RUNNING) {
            return median();
        }
        victim.pause();
        try {
            return median();
        } finally {
            victim.wake();
        }
    }

    private long median() {
        Sandbox neighbour = siege().neighbour();
        long[] times = new long[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) {
            long began = System.nanoTime();
            assertThat(neighbour.run(Command.of("true")).code()).isZero();
            times[i] = System.nanoTime() - began;
        }
        Arrays.sort(times);
        return times[SAMPLES / 2];
    }

    private static Command python(String program) {
        return Command.of("python3", "-c", program);
    }

    private boolean can(Capability capability) {
        return siege().machine().provider().capabilities().contains(capability);
    }

    private void needs(Capability capability) {
        assumeTrue(can(capability), () -> siege().runtime() + " lacks " + capability);
    }

    private static String allOf(RunningCommand command) throws IOException {
        return new String(command.stdout().readAllBytes(), UTF_8);
    }

    /** Something of the victim's that still has to work: it is limited, not dead. */
    private static void assertAnswers(Sandbox victim) {
        assertThat(victim.run(Command.of("echo", "alive")).stdout()).isEqualTo("alive\n");
    }

    @Test
    default void aForkBombStaysWithinThePidsLimit() throws IOException {
        explode(Command.shell("bomb() { bomb | bomb & }; bomb; sleep 60"), (victim, _) -> {
            if (can(Capability.PIDS_LIMIT)) {
                assertThat(victim.usage().pids()).isLessThanOrEqualTo(LIMITS.pids());
            }
        });
    }

    @Test
    default void forksBeyondTheLimitAreReported() throws IOException {
        Command bomb = python("""
                import os, time
                try:
                    while True:
                        if os.fork() == 0:
                            time.sleep(60)
                            os._exit(0)
                except OSError as e:
                    print(e.strerror)
                """);
        needs(Capability.PIDS_LIMIT);
        explode(bomb, (_, running) -> {
            assertThat(allOf(running)).isEqualTo("Resource temporarily unavailable\n");
            assertThat(running.await().limitsHit()).contains(Limit.PIDS);
        });
    }

    /** Where the limit ends a process it is reported; under gVisor, whose memory is one, it may end the sandbox. */
    @Test
    default void aMemoryBombIsEndedByTheMemoryLimit() throws IOException {
        explode(python("x = []\nwhile True: x.append(b'x' * 1000000)"), (victim, running) -> {
            try {
                Exit exit = running.await(PATIENCE).orElseThrow();
                assertThat(exit.success()).isFalse();
                if (can(Capability.MEMORY_LIMIT_REPORTED)) {
                    assertThat(exit.limitsHit()).contains(Limit.MEMORY);
                }
            } catch (SandboxException e) {
                assertThat(can(Capability.MEMORY_LIMIT)).as(e.getMessage()).isFalse();
            }
            if (can(Capability.MEMORY_LIMIT)) {
                assertAnswers(victim);
            }
        });
    }

    @Test
    default void aManyHandedMemoryBombSparesTheGuest() throws IOException {
        needs(Capability.MEMORY_LIMIT);
        String eater = "python3 -c \"x = []\nwhile True: x.append(b'x' * 1000000)\"";
        explode(Command.shell("for i in 1 2 3 4 5 6; do while :; do " + eater + "; done & done; wait"), (victim, _) -> {
            assertThat(victim.usage().memoryBytes()).isLessThanOrEqualTo(limits().memoryBytes());
            assertThat(victim.info().state()).isEqualTo(SandboxState.RUNNING);
        });
    }

    @Test
    default void aDiskFillerIsStoppedByTheDiskLimit() throws IOException {
        explode(Command.shell("head -c 1G /dev/urandom > big; echo $?"), (victim, running) -> {
            assertThat(allOf(running)).isEqualTo("1\n");
            assertThat(running.await().limitsHit()).contains(Limit.DISK);
            assertThat(victim.usage().diskBytes()).isLessThanOrEqualTo(LIMITS.diskBytes());
            assertAnswers(victim);
        });
    }

    @Test
    default void anInodeBombIsStoppedByTheDiskLimit() throws IOException {
        Command bomb = python("""
                import os, time
                began, n = time.time(), 0
                try:
                    while n < 1000000 and time.time() < began + 5:
                        if n % 1000 == 0:
                            os.makedirs('many/%d' % n)
                            here = 'many/%d/' % n
                        os.close(os.open(here + str(n), os.O_CREAT | os.O_WRONLY))
                        n += 1
                except OSError as e:
                    print('stopped')
                print(n)
                """);
        // Small, so that it is the sooner reached.
        Limits limits = limits().withDisk(8 * MIB);
        explode(limits, bomb, (victim, running) -> {
            String said = allOf(running);
            assertThat(running.await().success()).isTrue();
            // Either it ran into the limit, or was still below it when its time was up.
            assertThat(said.startsWith("stopped") || victim.usage().diskBytes() < limits.diskBytes())
                    .as(said)
                    .isTrue();
            assertThat(victim.usage().diskBytes()).isLessThanOrEqualTo(limits.diskBytes());
        });
    }

    @Test
    default void aDescriptorBombIsStoppedByItsOwnLimit() throws IOException {
        Command bomb = python("""
                import os
                for i in range(20):
                    if os.fork() == 0:
                        break
                held = []
                try:
                    while True:
                        held.append(os.open('/dev/null', os.O_RDONLY))
                except (OSError, MemoryError):
                    pass
                if os.getpid() % 2:
                    os.execvp('sleep', ['sleep', '20'])
                print('full', flush=True)
                """);
        explode(bomb, (_, _) -> {
            try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
                assertThat(descriptors.count()).isLessThan(1000);
            }
        });
    }

    @Test
    default void anOutputFloodThatDropsTheOldestKeepsNoMoreThanTheRing() throws IOException {
        explode(Command.of("yes").whenFull(WhenFull.DROP_OLDEST), (victim, _) -> {
            assertThat(victim.usage().memoryBytes()).isLessThan(limits().memoryBytes());
            assertAnswers(victim);
        });
    }

    @Test
    default void anOutputFloodThatNobodyReadsBlocksItself() throws IOException {
        explode(Command.of("yes"), (victim, running) -> {
            assertThat(running.await(Duration.ofMillis(100))).isEmpty();
            assertThat(running.stdout().available()).isLessThanOrEqualTo((int) MIB);
            assertAnswers(victim);
        });
    }

    @Test
    default void anOutputFloodThatIsReadSlowsNobody() throws IOException {
        explode(Command.of("yes"), (victim, running) -> {
            assertThat(running.stdout().readNBytes((int) (16 * MIB))).hasSize((int) (16 * MIB));
            assertAnswers(victim);
        });
    }

    @Test
    default void anInotifyBombLeavesTheServerItsWatches() throws IOException {
        Command bomb = python("""
                import ctypes, os, time
                c = ctypes.CDLL(None)
                held = 0
                while held < 4000:
                    fd = c.inotify_init1(0)
                    if fd < 0:
                        break
                    c.inotify_add_watch(fd, b'/tmp', 0xfff)
                    held += 1
                print(held, flush=True)
                while True:
                    open('/tmp/touched', 'w').close()
                """);
        explode(bomb, (_, running) -> {
            assertThat(running.stdout().read()).isGreaterThan('0');
            try (var watch = siege().neighbour().files().watch("/home/user", true, _ -> {})) {
                assertThat(watch).isNotNull();
            }
        });
    }

    @Test
    default void aZombieBombIsReapedOrCounted() throws IOException {
        Command bomb = python("""
                import os
                for i in range(40):
                    if os.fork() == 0:
                        os._exit(0)
                print('unreaped', flush=True)
                while True:
                    try:
                        if os.fork() == 0:
                            if os.fork() == 0:
                                os._exit(0)
                            os._exit(0)
                        os.wait()
                    except OSError:
                        pass
                """);
        explode(bomb, (victim, running) -> {
            assertThat(running.stdout().read()).isEqualTo('u');
            if (can(Capability.PIDS_LIMIT)) {
                assertThat(victim.usage().pids()).isLessThanOrEqualTo(LIMITS.pids());
            }
            assertAnswers(victim);
        });
    }

    @Test
    default void spinnersGetNoMoreThanTheirProcessors() throws IOException {
        explode(Command.shell("for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait"), (victim, _) -> {
            long began = System.nanoTime();
            Duration before = victim.usage().cpuTime();
            siege().sleep(Duration.ofSeconds(1));
            double used = victim.usage().cpuTime().minus(before).toNanos();
            assertThat(used / (System.nanoTime() - began)).isLessThan(1.5);
            assertAnswers(victim);
        });
    }

    @Test
    default void aSharedMemoryFillerIsStopped() throws IOException {
        Command bomb = Command.shell("head -c 1G /dev/zero > /dev/shm/fill; echo $?; wc -c < /dev/shm/fill");
        explode(bomb, (victim, running) -> {
            String said = allOf(running);
            assertThat(said).startsWith("1\n");
            assertThat(said.substring(2).strip()).matches("[0-9]+");
            assertThat(Long.parseLong(said.substring(2).strip())).isLessThanOrEqualTo(64 * MIB);
            assertAnswers(victim);
        });
    }

    @Test
    default void aPipeFillerStaysWithinTheMemoryLimit() throws IOException {
        Command bomb = python("""
                import os, time
                held = []
                try:
                    while len(held) < 5000:
                        r, w = os.pipe()
                        os.set_blocking(w, False)
                        held.append((r, w))
                        try:
                            while True:
                                os.write(w, b'x' * 65536)
                        except BlockingIOError:
                            pass
                except OSError:
                    pass
                print('full', flush=True)
                time.sleep(30)
                """);
        explode(
                bomb,
                (victim, _) -> assertThat(victim.usage().memoryBytes()).isLessThanOrEqualTo(limits().memoryBytes()));
    }

    /** Whoever walks it by recursion runs out of stack, by paths out of PATH_MAX, by open descriptors out of those. */
    @Test
    default void aVeryDeepDirectoryIsRemoved() throws IOException {
        // gVisor holds every directory open on the host, which makes removing them slow: 5 ms each.
        int depth = siege().runtime() == RuntimeKind.RUNSC ? 2000 : 30_000;
        Command bomb = python("""
                import os, time
                began = time.time()
                os.mkdir('/home/user/deep')
                os.chdir('/home/user/deep')
                n = 0
                try:
                    while n < DEPTH and time.time() < began + 10:
                        os.mkdir('d')
                        os.chdir('d')
                        n += 1
                except OSError as e:
                    print(e)
                print('made', n)
                """.replace("DEPTH", Integer.toString(depth)));
        // The kernel keeps every directory on the way to the current one in memory, and all of them count.
        explode(limits().withMemory(1024 * MIB).withDisk(1024 * MIB), bomb, (victim, running) -> {
            String said = allOf(running);
            assertThat(said).contains("made ");
            assertThat(Integer.parseInt(
                            said.substring(said.indexOf("made ") + 5).strip()))
                    .isGreaterThan(1000);
            victim.files().remove("/home/user/deep");
            assertThat(victim.files().exists("/home/user/deep")).isFalse();
        });
    }
}
