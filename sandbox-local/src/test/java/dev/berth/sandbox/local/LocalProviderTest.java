package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What the local provider promises beyond the contract. Needs root and crun. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class LocalProviderTest {
    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }

    @Test
    void aSandboxThatCouldNotBeRemovedAsAWholeIsNotUsedAgain() throws IOException {
        LocalSandbox sandbox = (LocalSandbox) machine.provider().create(SandboxSpec.of("stubborn", "host"));
        Mounts.mount("tmpfs", "none", sandbox.box().bundle(), 0, "");
        try {
            assertThatThrownBy(sandbox::destroy).isInstanceOf(SandboxException.class);
            // Its record is gone: the next one to sweep up would remove it with all that was written since.
            assertThatThrownBy(sandbox::wake)
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.GONE));
            assertThatThrownBy(() -> machine.provider().find(sandbox.id())).isInstanceOf(SandboxException.class);
        } finally {
            Mounts.unmount(sandbox.box().bundle());
        }
        assertThat(machine.provider().find(sandbox.id())).isEmpty();
        machine.provider().create(SandboxSpec.of("stubborn", "host")).destroy();
    }

    @Test
    void oneOfManyCreatesOfTheSameIdWins() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<String> create = () -> {
                try {
                    return machine.provider()
                            .create(SandboxSpec.of("contended", "host"))
                            .id()
                            .value();
                } catch (SandboxException e) {
                    return e.code().wireName();
                }
            };
            List<String> outcomes = threads.invokeAll(List.of(create, create, create, create)).stream()
                    .map(Future::resultNow)
                    .toList();
            assertThat(outcomes).containsOnlyOnce("contended");
            assertThat(outcomes.stream().filter("conflict"::equals)).hasSize(3);
        }
    }

    @Test
    void aSecondProviderSeesWhatIsTakenAndMayNotTouchIt() {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("shared", "host"));
        try (LocalProvider other = LocalProvider.open(machine.config())) {
            assertThat(other.list()).isEmpty();
            assertThatThrownBy(() -> other.find(sandbox.id()))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            assertThatThrownBy(() -> other.create(SandboxSpec.of("shared", "host")))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            Sandbox own = other.createEphemeral(SandboxSpec.of("own", "host"));
            assertThat(own.run(Command.of("true")).code()).isZero();
        }
        machine.provider().list();
        assertThat(sandbox.run(Command.of("true")).code()).isZero();
    }

    @Test
    void itsLocationIsThatOfTheDataDirectory() throws Exception {
        String location = machine.provider().location();
        assertThat(location).matches("local:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
        try (LocalProvider other = LocalProvider.open(machine.config())) {
            assertThat(other.location()).isEqualTo(location);
        }
        Path fresh = Files.createTempDirectory("location");
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<String>> opens = Collections.nCopies(8, () -> Location.of(fresh));
            assertThat(threads.invokeAll(opens).stream().map(Future::resultNow).distinct())
                    .hasSize(1)
                    .doesNotContain(location);
        }
        try (var files = Files.list(fresh)) {
            assertThat(files).hasSize(1);
        }
        Directories.remove(fresh);
    }

    @Test
    void wakesThoughItsRootUserRemovedTheGuestsPlace() {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("vandal", "host"));
        assertThat(sandbox.run(Command.shell("mv /.berth /moved && ln -s /etc /.berth")
                                .withUser("root"))
                        .code())
                .isZero();
        sandbox.files()
                .write("note", new ByteArrayInputStream("kept".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
        assertThat(sandbox.run(Command.of("cat", "note")).stdout()).isEqualTo("kept");
        sandbox.stop();
        sandbox.wake();
        assertThat(sandbox.run(Command.of("cat", "note")).stdout()).isEqualTo("kept");
    }

    @Test
    void mountsARootOnceWhateverHappens() throws IOException {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("mounted", "host"));
        sandbox.run(Command.shell("rm -rf /.berth/* 2>/dev/null; mv /.berth /gone; mv /etc /etc2")
                .withUser("root"));
        sandbox.files().list("/", 1);
        sandbox.stop();
        sandbox.files().list("/", 1);
        assertThat(Mounts.all().stream()
                        .filter(mount -> mount.type().equals("overlay")
                                && mount.target().startsWith(machine.data())
                                && mount.source()
                                        .equals("berth-"
                                                + ((LocalSandbox) sandbox).box().name())))
                .hasSize(1);
    }

    @Test
    void aFailedBootLeavesNothingAndSaysWhy() throws IOException {
        // Too little memory for the runtime itself to start in.
        Limits tiny = Limits.DEFAULT.withMemory(16 << 20).withPids(4);
        int boxes = machine.provider().list().size();
        try {
            machine.provider()
                    .create(SandboxSpec.of("tiny", "host").withLimits(tiny))
                    .destroy();
        } catch (SandboxException e) {
            assertThat(e.getMessage()).contains("could not start the sandbox");
        }
        assertThat(machine.provider().find(new dev.berth.sandbox.SandboxId("tiny")))
                .isEmpty();
        assertThat(machine.provider().list()).hasSize(boxes);
    }

    @Test
    void peopleWithAccountsOnTheMachineCannotReachASandbox() throws Exception {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("private", "host"));
        java.nio.file.Path root = ((LocalSandbox) sandbox).box().root();
        for (String path : List.of(
                root.toString(),
                machine.data().resolve("pool").toString(),
                machine.data().resolve("ids").toString())) {
            Process look = new ProcessBuilder("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "ls", path)
                    .redirectErrorStream(true)
                    .start();
            assertThat(new String(look.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8))
                    .contains("Permission denied");
            assertThat(look.waitFor()).isNotZero();
        }
    }

    @Test
    void servesAHundredCreatesAtOnce() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Integer>> creates = java.util.stream.IntStream.range(0, 100)
                    .<Callable<Integer>>mapToObj(i -> () -> {
                        Sandbox sandbox = machine.provider().create(SandboxSpec.of("burst-" + i, "host"));
                        int code = sandbox.run(Command.of("true")).code();
                        sandbox.destroy();
                        return code;
                    })
                    .toList();
            for (Future<Integer> outcome : threads.invokeAll(creates)) {
                assertThat(outcome.get()).isZero();
            }
        }
    }
}
