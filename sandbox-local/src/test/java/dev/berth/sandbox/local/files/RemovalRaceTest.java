package dev.berth.sandbox.local.files;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A removal walks down a tree while the sandbox moves the directories it stands in. */
@Timeout(300)
class RemovalRaceTest {
    private static final int ROUNDS = 500;

    @TempDir
    private Path directory;

    @Test
    void neverRemovesBesideTheTree() throws Exception {
        RootFixture sandbox = new RootFixture(directory);
        sandbox.sh("mkdir -p keep/x/y; echo x > keep/file; echo x > keep/x/file; ln -s ../../outside link");
        Process attacker = sandbox.startPython("""
                print('ready', flush=True)
                while True:
                    libc.renameat2(-100, b'tree/a/b', -100, b'keep/x/y/b', 0)
                    libc.renameat2(-100, b'keep/x/y/b', -100, b'tree/a/b', 0)
                    libc.renameat2(-100, b'tree/c', -100, b'link', 2)
                    libc.renameat2(-100, b'tree/a', -100, b'tree/c/a', 0)
                """);
        try {
            for (int i = 0; i < ROUNDS; i++) {
                build(sandbox.files);
                attempt(sandbox.files);
                assertThat(sandbox.files.exists("/keep/file")).isTrue();
                assertThat(sandbox.files.exists("/keep/x/file")).isTrue();
            }
            assertThat(attacker.isAlive()).isTrue();
        } finally {
            attacker.destroyForcibly().waitFor();
        }
        sandbox.assertNothingReachedOutside();
    }

    private static void build(RootFiles files) {
        try {
            for (String path : new String[] {"/tree/a/b/1/2/3", "/tree/c/1/2", "/tree/a/x/y"}) {
                files.write(path + "/file", RootFixture.bytes("x"));
            }
        } catch (SandboxException _) {
            // moved away under it; half a tree will do
        }
    }

    private static void attempt(RootFiles files) throws IOException {
        try {
            files.remove("/tree");
        } catch (SandboxException _) {
            // moved away under it
        }
    }
}
