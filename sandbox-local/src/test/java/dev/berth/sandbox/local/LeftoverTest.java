package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Two providers on one data directory, and what one of them left as if it had been killed. Needs root and crun. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LeftoverTest {
    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);
    private final LocalProvider living = machine.provider();
    private final LocalProvider dying = LocalProvider.open(machine.config());

    @AfterAll
    void leaveNothing() throws IOException {
        dying.close();
        machine.close();
    }

    @AfterEach
    void nothingIsLeft() {
        living.list().forEach(Sandbox::destroy);
        living.sweep();
        for (String place : List.of("boxes", "ids", "pool", "checkpoints")) {
            assertThat(machine.data().resolve(place)).isEmptyDirectory();
        }
    }

    @Test
    void aNameThatADeadProcessHeldIsFreeForTheLiving() throws IOException {
        killedBeforeItsRecord("taken");
        Sandbox sandbox = living.create(SandboxSpec.of("taken", "host"));
        assertThat(sandbox.run(Command.of("ls", "-A", "mark")).code()).isNotZero();
        assertThat(machine.data().resolve("boxes")).isDirectoryNotContaining(box -> !box.endsWith(name(sandbox)));
        assertThat(machine.data().resolve("pool")).isDirectoryNotContaining("glob:**/checkpoint-*");
    }

    @Test
    void whatADeadProcessLeftIsNotFoundAndGone() throws IOException {
        Sandbox left = killedBeforeItsRecord("lost");
        assertThat(living.find(left.id())).isEmpty();
        assertThat(machine.data().resolve("boxes")).isEmptyDirectory();
        assertThat(machine.data().resolve("pool")).isEmptyDirectory();
    }

    @Test
    void whatWentWithItsProcessIsNotTakenUp() throws IOException {
        Sandbox left = dying.createEphemeral(SandboxSpec.of("brief", "host"));
        ((LocalSandbox) left).leave();
        assertThat(living.list()).isEmpty();
        assertThat(machine.data().resolve("boxes")).isEmptyDirectory();
        assertThat(living.create(SandboxSpec.of("brief", "host")).state()).isNotNull();
    }

    @Test
    void whatIsBeingMadeIsNotFoundAndItsNameIsTaken() throws IOException {
        Sandbox young = dying.create(SandboxSpec.of("young", "host"));
        ((LocalSandbox) young).box().forget();
        assertThat(living.find(young.id())).isEmpty();
        assertThatThrownBy(() -> living.create(SandboxSpec.of("young", "host")))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
        living.sweep();
        assertThat(young.run(Command.of("true")).code()).isZero();
        young.destroy();
    }

    @Test
    void aBoxIsSweptAtWhateverPointItsMakerOrRemoverDied() throws IOException {
        Path boxes = machine.data().resolve("boxes");
        Files.createDirectory(boxes.resolve("only-directory"));
        Files.createFile(Files.createDirectory(boxes.resolve("with-lock")).resolve("lock"));
        Files.createFile(
                Files.createDirectories(boxes.resolve("with-more/link")).resolveSibling("lock"));
        Files.createSymbolicLink(machine.data().resolve("ids/dangling"), Path.of("gone"));
        Files.createFile(machine.data().resolve("checkpoints/cp-x.partial"));
        Files.createFile(machine.data().resolve("checkpoints/cp-x.draft"));
        living.sweep();
        assertThat(boxes).isEmptyDirectory();
        assertThat(machine.data().resolve("ids")).isEmptyDirectory();
        assertThat(machine.data().resolve("checkpoints")).isEmptyDirectory();
    }

    /** Whoever clears away a name of a box that is gone must not clear away the one that replaced it. */
    @Test
    void aNameThatIsFreedIsGivenToOne() throws Exception {
        SandboxId wanted = new SandboxId("wanted");
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            for (int round = 0; round < 100; round++) {
                Files.createSymbolicLink(machine.data().resolve("ids/wanted"), Path.of("gone"));
                List<Box> boxes = new ArrayList<>();
                List<Callable<Integer>> takers = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    Boxes of = i % 2 == 0 ? living.boxes() : dying.boxes();
                    Box box = of.make();
                    boxes.add(box);
                    takers.add(() -> take(of, wanted, box));
                }
                int given = 0;
                for (Future<Integer> taker : threads.invokeAll(takers)) {
                    given += taker.get();
                }
                assertThat(given).isEqualTo(1);
                for (Box box : boxes) {
                    LocalSandbox.remove(living.machine(), box, box.firstTree());
                    living.boxes().release(wanted, box);
                }
            }
        }
    }

    private static int take(Boxes boxes, SandboxId id, Box box) throws IOException {
        try {
            boxes.reserve(id, box);
            return 1;
        } catch (SandboxException e) {
            assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.CONFLICT);
            return 0;
        }
    }

    @Test
    void aNameComesAndGoesWhileOthersWantIt() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Callable<Integer>> users = new ArrayList<>();
            for (LocalProvider provider : List.of(living, dying, living, dying)) {
                users.add(() -> {
                    int made = 0;
                    for (int i = 0; i < 20; i++) {
                        try {
                            Sandbox sandbox = provider.create(SandboxSpec.of("coveted", "host"));
                            assertThat(provider.find(sandbox.id())).contains(sandbox);
                            assertThat(sandbox.run(Command.of("true")).code()).isZero();
                            sandbox.destroy();
                            made++;
                        } catch (SandboxException e) {
                            assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.CONFLICT);
                            TimeUnit.MILLISECONDS.sleep(5);
                        }
                    }
                    return made;
                });
            }
            int made = 0;
            for (Future<Integer> user : threads.invokeAll(users)) {
                made += user.get();
            }
            assertThat(made).isPositive();
        }
    }

    @Test
    void sweepingTakesNothingThatIsBeingMade() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Thread sweeper = Thread.ofPlatform().start(() -> {
            while (!done.get()) {
                living.sweep();
            }
        });
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            List<Callable<Integer>> makers = new ArrayList<>();
            for (int maker = 0; maker < 3; maker++) {
                String id = "made-" + maker;
                makers.add(() -> make(id));
            }
            for (Future<Integer> made : threads.invokeAll(makers)) {
                assertThat(made.get()).isEqualTo(15);
            }
        } finally {
            done.set(true);
            sweeper.join();
        }
    }

    private int make(String id) {
        int made = 0;
        for (int i = 0; i < 15; i++) {
            Sandbox sandbox = dying.create(SandboxSpec.of(id, "host"));
            Checkpoint point = sandbox.checkpoint("point");
            assertThat(sandbox.changesSince(point.id())).isEmpty();
            sandbox.rollback(point.id());
            assertThat(sandbox.run(Command.of("true")).code()).isZero();
            dying.deleteCheckpoint(point.id());
            sandbox.destroy();
            made++;
        }
        return made;
    }

    /** All of a sandbox but its record, and nobody who holds it: as a process leaves it that is killed before the last step. */
    private Sandbox killedBeforeItsRecord(String id) throws IOException {
        Sandbox sandbox = dying.create(SandboxSpec.of(id, "host"));
        sandbox.run(Command.shell("touch mark"));
        ((LocalSandbox) sandbox).box().forget();
        ((LocalSandbox) sandbox).leave();
        return sandbox;
    }

    private static String name(Sandbox sandbox) {
        return ((LocalSandbox) sandbox).box().name();
    }
}
