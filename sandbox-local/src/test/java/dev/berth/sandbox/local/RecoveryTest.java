package dev.berth.sandbox.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is there after the server was killed with -9, or went in peace. Needs root and crun. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RecoveryTest {
    private static final SandboxId SURVIVOR = new SandboxId("survivor");

    @Test
    void aKilledServerLosesNoSandboxNoProcessAndNoOutput() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        LocalConfig config =
                LocalConfig.of(data).withTemplates(TestMachine.templates()).withPoolBytes(4L << 30);
        Process server = startServer(data);
        try {
            String ready = readyLine(server);
            server.destroyForcibly().waitFor();
            readsOnWhereTheServerStopped(config, ready);
        } finally {
            server.destroyForcibly().waitFor();
            clearAway(config);
        }
    }

    private static void readsOnWhereTheServerStopped(LocalConfig config, String ready) throws IOException {
        try (LocalProvider provider = LocalProvider.open(config)) {
            Sandbox survivor = provider.find(SURVIVOR).orElseThrow();
            assertThat(survivor.state()).isEqualTo(SandboxState.RUNNING);
            CommandInfo info = survivor.commands().getFirst();
            assertThat(info.tag()).isEqualTo("counting");
            assertThat("ready " + info.pid()).isEqualTo(ready);
            assertThat(info.exit()).isEmpty();
            try (RunningCommand counting = survivor.attach(info.id(), 7, 0)) {
                BufferedReader lines = new BufferedReader(new java.io.InputStreamReader(counting.stdout(), UTF_8));
                for (int i = 1; i < 100; i++) {
                    assertThat(lines.readLine()).isEqualTo("line " + i);
                }
                counting.signal(Signal.KILL);
                assertThat(counting.await().signal()).isEqualTo(9);
            }
            assertThat(survivor.run(Command.shell("echo still here")).stdout()).isEqualTo("still here\n");
        }
    }

    @Test
    void aServerKilledAtAnyMomentLeavesNothingHalfMade() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        LocalConfig config =
                LocalConfig.of(data).withTemplates(TestMachine.templates()).withPoolBytes(4L << 30);
        try {
            for (int round = 0; round < 6; round++) {
                // Each round is cut off at another point of the server's making and destroying.
                runServerFor(7L * round + 3, data);
                findsNothingHalfMade(config);
            }
        } finally {
            clearAway(config);
        }
    }

    private static void runServerFor(long millis, Path data) throws IOException, InterruptedException {
        Process server = startServer(data);
        try {
            readyLine(server);
            server.waitFor(millis, TimeUnit.MILLISECONDS);
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    private static void findsNothingHalfMade(LocalConfig config) throws IOException {
        Path data = config.data();
        try (LocalProvider provider = LocalProvider.open(config)) {
            findsNothingHalfMade(provider, data);
        }
    }

    private static void findsNothingHalfMade(LocalProvider provider, Path data) throws IOException {
        for (Sandbox sandbox : provider.list()) {
            assertThat(sandbox.run(Command.of("true")).code())
                    .as(sandbox.id().value())
                    .isZero();
        }
        assertThat(provider.find(SURVIVOR)).isPresent();
        assertThat(names(data.resolve("boxes"))).hasSameSizeAs(provider.list());
        assertThat(names(data.resolve("ids"))).hasSameSizeAs(provider.list());
        assertThat(names(data.resolve("pool")).stream().filter(tree -> !tree.startsWith("checkpoint-")))
                .hasSameSizeAs(provider.list());
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        assertThat(names(data.resolve("pool"))).hasSameSizeAs(provider.list());
        assertThat(names(data.resolve("checkpoints"))).isEmpty();
        provider.list().forEach(Sandbox::destroy);
    }

    @Test
    void whatAKilledServerLeftIsSweptUpByOneThatLives() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        LocalConfig config =
                LocalConfig.of(data).withTemplates(TestMachine.templates()).withPoolBytes(4L << 30);
        try (LocalProvider living = LocalProvider.open(config)) {
            for (int round = 0; round < 4; round++) {
                runServerFor(9L * round + 3, data);
                living.sweep();
                findsNothingHalfMade(living, data);
            }
        } finally {
            clearAway(config);
        }
    }

    @Test
    void sweepingIsInNobodysWay() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        LocalConfig config =
                LocalConfig.of(data).withTemplates(TestMachine.templates()).withPoolBytes(4L << 30);
        Process server = startServer(data);
        try {
            readyLine(server);
            try (LocalProvider living = LocalProvider.open(config)) {
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
                while (System.nanoTime() < end) {
                    living.sweep();
                    assertThat(server.isAlive()).as("the server goes on").isTrue();
                }
            }
        } finally {
            server.destroyForcibly().waitFor();
            clearAway(config);
        }
    }

    @Test
    void closingTheServerLeavesSandboxesAsTheyAre() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            Sandbox running = machine.provider().create(SandboxSpec.of("running", "host"));
            Sandbox paused = machine.provider().create(SandboxSpec.of("paused", "host"));
            Sandbox stopped = machine.provider().create(SandboxSpec.of("stopped", "host"));
            Sandbox ephemeral = machine.provider().createEphemeral(SandboxSpec.of("ephemeral", "host"));
            int id = running.start(Command.shell("read x; echo got $x").withStdin())
                    .id();
            paused.run(Command.shell("echo kept > file"));
            paused.pause();
            stopped.run(Command.shell("echo kept > file"));
            stopped.stop();

            LocalProvider next = machine.reopen();
            assertThat(next.find(running.id()).orElseThrow().state()).isEqualTo(SandboxState.RUNNING);
            assertThat(next.find(paused.id()).orElseThrow().state()).isEqualTo(SandboxState.PAUSED);
            assertThat(next.find(stopped.id()).orElseThrow().state()).isEqualTo(SandboxState.STOPPED);
            assertThat(next.find(ephemeral.id())).isEmpty();
            try (RunningCommand command = next.find(running.id()).orElseThrow().attach(id, 0, 0)) {
                command.stdin().write("word\n".getBytes(UTF_8));
                assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("got word\n");
            }
            for (SandboxId asleep : List.of(paused.id(), stopped.id())) {
                Sandbox sandbox = next.find(asleep).orElseThrow();
                assertThat(sandbox.files().exists("file")).isTrue();
                sandbox.wake();
                assertThat(sandbox.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");
            }
        }
    }

    @Test
    void aMachineThatWasRestartedFindsItsSandboxesStopped() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            Sandbox sandbox = machine.provider().create(SandboxSpec.of("rebooted", "host"));
            sandbox.run(Command.shell("echo kept > file"));
            sandbox.stop();
            machine.provider().close();
            // What a reboot does: no process, no cgroup, no mount.
            machine.pretendReboot();
            LocalProvider next = machine.reopen();
            Sandbox found = next.find(sandbox.id()).orElseThrow();
            assertThat(found.state()).isEqualTo(SandboxState.STOPPED);
            assertThat(found.files().stat("file").size()).isEqualTo(5);
            found.wake();
            assertThat(found.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");
        }
    }

    @Test
    void aRootThatAKilledServerLeftHalfMountedIsMountedAsAWhole() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            Sandbox sandbox = machine.provider().create(SandboxSpec.of("halved", "host"));
            sandbox.run(Command.shell("echo kept > file"));
            sandbox.stop();
            machine.provider().close();
            // Killed between two mounts of a wake or a rollback: the overlay is there, what goes into it is not.
            assertThat(Mounts.unmount(((LocalSandbox) sandbox).box().root().resolve("usr")))
                    .isTrue();
            Sandbox found = machine.reopen().find(sandbox.id()).orElseThrow();
            found.wake();
            assertThat(found.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");
        }
    }

    private static Process startServer(Path data) throws IOException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-Xshare:auto",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        classPath,
                        CreatingServer.class.getName(),
                        data.toString(),
                        TestMachine.templates().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static String readyLine(Process server) throws IOException {
        String line = new BufferedReader(new java.io.InputStreamReader(server.getInputStream(), UTF_8)).readLine();
        assertThat(line).startsWith("ready ");
        return line;
    }

    private static List<String> names(Path directory) throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).toList();
        }
    }

    /** Removes all there is, also after a failure, and then looks whether that was so. */
    private static void clearAway(LocalConfig config) throws IOException {
        LocalProvider provider = LocalProvider.open(config);
        provider.list().forEach(Sandbox::destroy);
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        provider.closeAndUnmount();
        assertThat(Mounts.all()).noneMatch(mount -> mount.target().startsWith(config.data()));
        assertThat(Cgroups.detect(LocalProvider.group(config.data())).sandboxes())
                .isEmpty();
        Directories.remove(config.data());
    }
}
