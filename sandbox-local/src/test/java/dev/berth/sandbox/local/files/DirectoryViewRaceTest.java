package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process swaps a directory in the view with a link to one beside the view, as fast as it can. */
@Timeout(300)
class DirectoryViewRaceTest {
    private static final int ROUNDS = 2000;
    private static final String SECRET = "of the rest of the sandbox";

    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private SandboxFiles view;
    private Process attacker;

    @BeforeEach
    void startAttack() throws IOException {
        sandbox = new RootFixture(directory);
        sandbox.sh("mkdir -p ws/d/sub ws/a/b beside; echo inside > ws/d/secret; ln -s ../beside ws/swap");
        sandbox.files.write("/beside/secret", bytes(SECRET), 0600);
        view = sandbox.files.within("/ws");
        attacker = sandbox.startPython("""
                os.chdir('ws')
                print('ready', flush=True)
                while True:
                    libc.renameat2(-100, b'd', -100, b'swap', 2)
                    libc.renameat2(-100, b'a/b', -100, b'b', 0)
                    libc.renameat2(-100, b'b', -100, b'a/b', 0)
                """);
    }

    @AfterEach
    void nothingReachedTheRestOfTheSandbox() throws Exception {
        assertThat(attacker.isAlive()).isTrue();
        attacker.destroyForcibly().waitFor();
        assertThat(sandbox.read("/beside/secret")).isEqualTo(SECRET);
        assertThat(sandbox.files.list("/beside", 1)).singleElement().satisfies(secret -> {
            assertThat(secret.mode()).isEqualTo(0600);
            assertThat(secret.uid()).isEqualTo(RootFixture.UID);
        });
        assertThat(sandbox.files.stat("/beside").mode()).isEqualTo(0755);
    }

    /** Until it was tried often, and some of it worked; the attacker may be kept from the processor in between. */
    private static void repeat(IntConsumer operation) {
        int worked = 0;
        for (int i = 0; i < ROUNDS || worked == 0; i++) {
            try {
                operation.accept(i);
                worked++;
            } catch (SandboxException _) {
                // as good as the attacker lets it be
            }
        }
    }

    private String read(String path) {
        try (InputStream in = view.read(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void readsAndListsOnlyWhatIsInside() {
        repeat(_ -> assertThat(read("d/secret")).isEqualTo("inside\n"));
        repeat(_ -> assertThat(view.stat("d/secret").size()).isEqualTo("inside\n".length()));
        repeat(_ -> assertThat(view.list("d", 2)).extracting(FileInfo::size).doesNotContain((long) SECRET.length()));
        repeat(_ -> assertThat(view.list(".", 3)).extracting(FileInfo::size).doesNotContain((long) SECRET.length()));
        repeat(_ -> assertThat(view.within("d").stat("secret").size()).isEqualTo("inside\n".length()));
    }

    @Test
    void writesOnlyInside() {
        repeat(i -> view.write("d/new" + i % 10, bytes("x")));
        repeat(_ -> view.write("d/secret", bytes("inside\n")));
        repeat(_ -> view.append("d/secret", bytes("x")));
        repeat(i -> view.append("d/log" + i, bytes("x")));
        repeat(i -> view.makeDirectory("d/deep" + i + "/er"));
        repeat(i -> view.write("d/sub/" + i + "/file", bytes("x")));
    }

    @Test
    void changesMovesAndRemovesOnlyWhatIsInside() {
        repeat(_ -> view.chmod("d/secret", 0777));
        repeat(_ -> view.chown("d/secret", 5, 5));
        repeat(_ -> view.chmod("d", 0700));
        repeat(i -> view.move(i % 2 == 0 ? "d/secret" : "d/moved", i % 2 == 0 ? "d/moved" : "d/secret"));
        repeat(_ -> {
            view.write("d/sub/secret", bytes("x"));
            view.write("d/secret", bytes("x"));
            view.remove("d/sub");
            view.remove("d/secret");
        });
    }
}
