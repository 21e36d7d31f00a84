package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.CANARY;
import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process of the sandbox swaps a directory with a link to the host's, as fast as it can, under every operation.
 *
 * <p>An operation may fail or see either state; it must not touch what is outside.
 */
@Timeout(300)
class SwapRaceTest {
    private static final int ROUNDS = 2000;

    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private RootFiles files;
    private Process attacker;

    @BeforeEach
    void startAttack() throws IOException {
        sandbox = new RootFixture(directory);
        files = sandbox.files;
        sandbox.sh("mkdir -p d/sub a/b; echo inside > d/secret; ln -s ../outside swap");
        attacker = sandbox.startPython("""
                print('ready', flush=True)
                while True:
                    libc.renameat2(-100, b'd', -100, b'swap', 2)
                    libc.renameat2(-100, b'a/b', -100, b'b', 0)
                    libc.renameat2(-100, b'b', -100, b'a/b', 0)
                """);
    }

    @AfterEach
    void nothingReachedOutside() throws Exception {
        assertThat(attacker.isAlive()).isTrue();
        attacker.destroyForcibly().waitFor();
        sandbox.assertNothingReachedOutside();
    }

    /**
     * Repeats an operation until some of it worked, so that the race was a race: on a busy machine the attacker may stand
     * still for all of the rounds, with what is read away.
     */
    private static void repeat(IntConsumer operation) {
        int worked = 0;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        for (int i = 0; i < ROUNDS || (worked == 0 && System.nanoTime() < deadline); i++) {
            try {
                operation.accept(i);
                worked++;
            } catch (SandboxException _) {
                // as good as the attacker lets it be
            }
        }
        assertThat(worked).isPositive();
    }

    @Test
    void theAttackWorksOnAReaderThatFollowsLinks() throws IOException {
        for (int i = 0; i < 1_000_000; i++) {
            try {
                if (Files.readString(sandbox.root.resolve("d/secret")).equals(CANARY)) {
                    return;
                }
            } catch (IOException _) {
                // between two renames
            }
        }
        throw new AssertionError("the attack never worked, so the tests here show nothing");
    }

    @Test
    void readsOnlyWhatIsInside() {
        repeat(_ -> assertThat(sandbox.read("/d/secret")).isEqualTo("inside\n"));
        repeat(_ -> assertThat(sandbox.read("/a/b/../../d/sub/../secret")).isEqualTo("inside\n"));
    }

    @Test
    void writesOnlyInside() {
        repeat(i -> files.write("/d/new" + i % 10, bytes("x")));
        repeat(_ -> files.write("/d/secret", bytes("inside\n")));
        repeat(_ -> files.append("/d/secret", bytes("x")));
        repeat(i -> files.append("/d/log" + i, bytes("x")));
    }

    @Test
    void makesDirectoriesOnlyInside() {
        repeat(i -> files.makeDirectory("/d/deep" + i + "/er"));
        repeat(i -> files.write("/d/sub/" + i + "/file", bytes("x")));
    }

    @Test
    void listsOnlyWhatIsInside() throws IOException {
        files.write("/x/only-here", bytes("x"));
        repeat(_ -> assertThat(files.list("/", 3))
                .filteredOn(f -> f.name().equals("secret"))
                .extracting(FileInfo::size)
                .doesNotContain((long) CANARY.length()));
        repeat(_ -> assertThat(files.list("/d", 2)).extracting(FileInfo::size).doesNotContain((long) CANARY.length()));
    }

    @Test
    void looksOnlyAtWhatIsInside() {
        repeat(_ -> assertThat(files.stat("/d/secret").size()).isEqualTo("inside\n".length()));
    }

    @Test
    void changesOnlyWhatIsInside() {
        repeat(_ -> files.chmod("/d/secret", 0777));
        repeat(_ -> files.chown("/d/secret", 5, 5));
        repeat(_ -> files.chmod("/d", 0777));
    }

    @Test
    void movesOnlyWhatIsInside() {
        repeat(i -> {
            if (i % 2 == 0) {
                files.move("/d/secret", "/d/moved");
            } else {
                files.move("/d/moved", "/d/secret");
            }
        });
    }

    @Test
    void removesOnlyWhatIsInside() {
        repeat(_ -> {
            files.write("/d/sub/secret", bytes("x"));
            files.write("/d/secret", bytes("x"));
            files.remove("/d/sub");
            files.remove("/d/secret");
        });
    }

    @Test
    void watchesOnlyWhatIsInside() {
        for (int i = 0; i < 100; i++) {
            try (var _ =
                    files.watch("/", true, event -> assertThat(event.path()).doesNotContain("outside"))) {
                files.write("/x", bytes("x"));
            }
        }
    }
}
