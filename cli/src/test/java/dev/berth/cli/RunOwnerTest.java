package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunOwnerTest {
    @TempDir
    Path proc;

    @Test
    void isAliveWhileTheProcessIsTheOneThatItWas() throws Exception {
        stat(42, "a) b (c", 777);
        assertThat(new RunOwner(42, 777).isAlive(proc)).isTrue();
        assertThat(new RunOwner(42, 778).isAlive(proc)).isFalse();
        assertThat(new RunOwner(43, 777).isAlive(proc)).isFalse();
    }

    @Test
    void isThisProcessInTheLabelThatItWrites() {
        String label = RunOwner.labels().getOrDefault(RunOwner.LABEL, "");
        RunOwner owner = RunOwner.parse(label).orElseThrow();
        assertThat(owner.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(owner.isAlive(Path.of("/proc"))).isTrue();
    }

    @Test
    void isNobodyInALabelThatSomebodyElseWrote() {
        assertThat(RunOwner.parse("")).isEmpty();
        assertThat(RunOwner.parse("me")).isEmpty();
        assertThat(RunOwner.parse("1:2:3")).isEmpty();
        assertThat(RunOwner.parse("1:x")).isEmpty();
    }

    private void stat(int pid, String name, long started) throws Exception {
        Path directory = Files.createDirectory(proc.resolve(Integer.toString(pid)));
        Files.writeString(
                directory.resolve("stat"),
                pid + " (" + name + ") S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + started + " 0 0\n");
    }
}
