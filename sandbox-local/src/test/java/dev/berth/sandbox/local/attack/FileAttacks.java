package dev.berth.sandbox.local.attack;

import static dev.berth.sandbox.local.attack.Siege.SECRET;
import static dev.berth.sandbox.local.attack.Siege.bytes;
import static dev.berth.sandbox.local.attack.Siege.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.Signal;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * What a process inside plants to lead the server, which serves files as the host's root, outside: links to the canary's
 * absolute path, and races.
 */
interface FileAttacks {
    int ROUNDS = 500;

    Siege siege();

    /** One operation on files below a directory. */
    interface Operation {
        void on(SandboxFiles files, String directory, int round) throws IOException;
    }

    static Map<String, Operation> operations() {
        Map<String, Operation> operations = new TreeMap<>();
        operations.put(
                "read",
                (files, dir, _) -> assertThat(text(files.read(dir + "/secret"))).isNotEqualTo(SECRET));
        operations.put(
                "stat",
                (files, dir, _) ->
                        assertThat(files.stat(dir + "/secret").size()).isNotEqualTo(SECRET.length()));
        operations.put(
                "exists",
                (files, dir, _) ->
                        assertThat(files.exists(dir + "/only-outside")).isFalse());
        operations.put(
                "list",
                (files, dir, _) -> assertThat(files.list(dir, 2))
                        .extracting(FileInfo::size)
                        .doesNotContain((long) SECRET.length()));
        operations.put("write", (files, dir, i) -> files.write(dir + "/new" + i % 10, bytes("x")));
        operations.put("write over", (files, dir, _) -> files.write(dir + "/secret", bytes("inside"), 0666));
        operations.put("append", (files, dir, _) -> files.append(dir + "/secret", bytes("x")));
        operations.put("make directories", (files, dir, i) -> files.makeDirectory(dir + "/made" + i % 10 + "/deeper"));
        operations.put("chmod", (files, dir, _) -> files.chmod(dir + "/secret", 0777));
        operations.put("chown", (files, dir, _) -> files.chown(dir + "/secret", 1000, 1000));
        operations.put("move away", (files, dir, i) -> {
            files.write(dir + "/secret", bytes("inside"));
            files.move(dir + "/secret", "/home/user/stolen" + i);
        });
        operations.put("move there", (files, dir, i) -> {
            files.write("/home/user/gift", bytes("x"));
            files.move("/home/user/gift", dir + "/gift" + i % 10);
        });
        operations.put("remove", (files, dir, _) -> {
            files.write(dir + "/secret", bytes("inside"));
            files.remove(dir + "/secret");
        });
        operations.put("remove all", (files, dir, _) -> {
            files.makeDirectory(dir + "/sub/deeper");
            files.remove(dir + "/sub");
        });
        operations.put("watch", (files, dir, _) -> {
            try (var _ =
                    files.watch(dir, true, event -> assertThat(event.path()).doesNotContain("only-outside"))) {
                files.exists(dir);
            }
        });
        return operations;
    }

    /** Directories that lead to the canary for anybody who looks them up on the host, as a shell line that makes them. */
    static Map<String, String> plants(Path canary) {
        String up = "../".repeat(20);
        Map<String, String> plants = new TreeMap<>();
        plants.put("an absolute link", "ln -s " + canary + " DIR");
        plants.put("a relative link", "ln -s " + up + canary.toString().substring(1) + " DIR");
        plants.put("a chain of links", "ln -s " + canary + " DIR-1; ln -s DIR-1 DIR-2; ln -s DIR-2 DIR");
        plants.put("a link through /proc/self/root", "ln -s /proc/self/root" + canary + " DIR");
        plants.put("a link through /proc/1/root", "ln -s /proc/1/root" + canary + " DIR");
        plants.put("a link through /proc/self/cwd", "ln -s /proc/self/cwd/" + up + canary + " DIR");
        plants.put(
                "a link to the server's own root",
                "ln -s /proc/" + ProcessHandle.current().pid() + "/root" + canary + " DIR");
        plants.put("a link to one of the server's descriptors", "ln -s /proc/self/fd/0/" + up + canary + " DIR");
        plants.put("a link to the magic links of a thread", "ln -s /proc/thread-self/root" + canary + " DIR");
        plants.put("a link in the middle", "mkdir DIR-mid; ln -s / DIR-mid/root; ln -s DIR-mid/root" + canary + " DIR");
        return plants;
    }

    @TestFactory
    default Stream<DynamicTest> throughAPlantedLink() {
        return plants(siege().canary()).entrySet().stream()
                .map(plant -> dynamicTest("no operation is led outside by " + plant.getKey(), () -> {
                    String dir = "/home/user/plant-" + plant.getKey().replaceAll("[^a-z]+", "-");
                    assertThat(siege().sh("user", plant.getValue().replace("DIR", dir))
                                    .code())
                            .isZero();
                    for (Operation operation : operations().values()) {
                        attempt(operation, dir, 0);
                        attempt(operation, dir + "/" + "../".repeat(20) + siege().canary(), 0);
                    }
                    siege().assertCanaryUnharmed();
                }));
    }

    @Test
    default void noOperationIsLedOutsideByDots() throws IOException {
        for (String path : List.of(
                "../".repeat(20) + siege().canary(),
                "/../../../../../.." + siege().canary(),
                "/proc/self/root" + siege().canary(),
                "/proc/1/root" + siege().canary(),
                "/usr/../../../../../.." + siege().canary())) {
            for (Operation operation : operations().values()) {
                attempt(operation, path, 0);
            }
        }
        siege().assertCanaryUnharmed();
    }

    @TestFactory
    default Stream<DynamicTest> whileAnAttackerSwapsADirectoryWithALink() throws IOException {
        SandboxFiles files = siege().hostile().files();
        files.write("/home/user/swap", new ByteArrayInputStream(Weapons.swap()), 0755);
        return operations().entrySet().stream()
                .map(operation -> dynamicTest(
                        "no race leads outside: " + operation.getKey(),
                        () -> race(operation.getKey(), operation.getValue())));
    }

    /** What the attack is worth: a reader that looks the path up itself is led outside in no time. */
    @Test
    default void theRaceIsWonAgainstAReaderThatFollowsLinks() throws Exception {
        Path dir = Files.createDirectory(siege().canary().resolveSibling("control"));
        Path inner = Files.createDirectory(dir.resolve("d"));
        Files.writeString(inner.resolve("secret"), "inside");
        Files.createSymbolicLink(dir.resolve("l"), siege().canary());
        Path program = dir.resolve("swap");
        Files.write(program, Weapons.swap());
        assertThat(program.toFile().setExecutable(true)).isTrue();
        Process attacker = new ProcessBuilder(program.toString(), dir + "/d", dir + "/l").start();
        try {
            boolean won = false;
            for (int i = 0; i < 1_000_000 && !won; i++) {
                won = Files.readString(inner.resolve("secret")).equals(SECRET);
            }
            assertThat(won).isTrue();
        } finally {
            attacker.destroyForcibly().waitFor();
            dev.berth.sandbox.local.linux.Directories.remove(dir);
        }
    }

    private void race(String name, Operation operation) throws IOException {
        String base = "/home/user/race-" + name.replace(' ', '-');
        String setUp = "mkdir -p B/d/sub; echo inside > B/d/secret; ln -s " + siege().canary() + " B/l";
        assertThat(siege().sh("user", setUp.replace("B", base)).code()).isZero();
        Command swap = siege().weaponised(Command.of("/home/user/swap", base + "/d", base + "/l"), "user");
        try (RunningCommand attacker = siege().hostile().start(swap)) {
            assertThat(attacker.stdout().read()).isEqualTo('r');
            int worked = 0;
            for (int i = 0; i < ROUNDS || (worked == 0 && i < 20 * ROUNDS); i++) {
                worked += attempt(operation, base + "/d", i) ? 1 : 0;
            }
            assertThat(attacker.await(java.time.Duration.ZERO))
                    .as("the attacker")
                    .isEmpty();
            assertThat(worked).as("rounds that the attacker let pass").isPositive();
            attacker.signal(Signal.KILL);
            attacker.await();
        }
        siege().assertCanaryUnharmed();
    }

    private boolean attempt(Operation operation, String directory, int round) throws IOException {
        try {
            operation.on(siege().hostile().files(), directory, round);
            return true;
        } catch (SandboxException e) {
            return false;
        }
    }
}
