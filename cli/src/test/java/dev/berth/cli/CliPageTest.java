package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Values;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The commands that call a server, as processes of their own, against a server that is one too. Needs root and crun. */
@Timeout(300)
class CliPageTest {
    /** Open to the user of the database, and short, as a socket in it needs. */
    private static Path directory;

    private static RunningServer server;

    /** A command, and what its output has to have in it. */
    private record Step(String command, List<String> expected) {}

    private record Ran(int code, String out, String err) {}

    @BeforeAll
    static void start() throws Exception {
        directory = Files.createTempDirectory(Path.of("/var/tmp"), "berth-cli-");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
        Path data = Files.createDirectories(directory.resolve("data"));
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
        server = RunningServer.start(data, Map.of()).awaitReady();
        Path berth = directory.resolve("bin/berth");
        Files.createDirectories(berth.getParent());
        Files.writeString(
                berth,
                "#!/bin/sh\nexec '" + Path.of(System.getProperty("java.home"), "bin", "java")
                        + "' --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp '"
                        + System.getProperty("java.class.path") + "' dev.berth.cli.Berth \"$@\"\n");
        Files.setPosixFilePermissions(berth, PosixFilePermissions.fromString("rwx------"));
    }

    @AfterAll
    static void stop() throws IOException {
        server.close();
        Path data = directory.resolve("data");
        ServerSettings settings =
                new ServerSettings(Values.of(Map.of("data", data.toString(), "store", "plain", "template", "host")));
        // What a test that failed left is removed all the same, before the walk: there are mounts in it.
        try (LocalProvider provider = LocalProvider.open(settings.local(Map.of()))) {
            provider.list().forEach(Sandbox::destroy);
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Without a key in the environment: that of the server on this machine is found. */
    private static Ran run(Path cwd, String line) throws IOException, InterruptedException {
        Path err = Files.createTempFile(directory, "err", "");
        ProcessBuilder shell =
                new ProcessBuilder("bash", "-c", line).directory(cwd.toFile()).redirectError(err.toFile());
        shell.environment().keySet().removeIf(name -> name.startsWith("BERTH_"));
        shell.environment().put("BERTH_URL", server.url());
        shell.environment().put("BERTH_DATA", directory.resolve("data").toString());
        shell.environment().merge("PATH", "", (path, _) -> directory.resolve("bin") + ":" + path);
        Process process = shell.start();
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(line).isTrue();
        return new Ran(process.exitValue(), out, Files.readString(err));
    }

    private static Ran run(String line) throws IOException, InterruptedException {
        return run(directory, line);
    }

    @Test
    void everyCommandOfThePageDoesWhatItSays() throws Exception {
        Path cwd = Files.createDirectories(directory.resolve("page"));
        List<Step> steps = steps(Files.readAllLines(Path.of("../docs/cli.md")));
        assertThat(steps).hasSizeGreaterThan(25);
        for (Step step : steps) {
            Ran ran = run(cwd, step.command());
            assertThat(ran.code()).as(step.command() + ran).isZero();
            for (String expected : step.expected()) {
                assertThat(ran.out()).as(step.command()).contains(expected);
            }
        }
    }

    private static List<Step> steps(List<String> lines) {
        List<Step> steps = new ArrayList<>();
        boolean shell = false;
        for (String line : lines) {
            if (line.startsWith("```")) {
                shell = line.equals("```sh");
            } else if (shell && line.startsWith("#> ")) {
                steps.getLast().expected().add(line.substring(3));
            } else if (shell) {
                steps.add(new Step(line, new ArrayList<>()));
            }
        }
        return steps;
    }

    @Test
    void failuresHaveTheExitCodesOfTheSetAndSayWhy() throws Exception {
        assertThat(run("berth session show nobody")).isEqualTo(new Ran(66, "", "berth: there is no such session\n"));
        assertThat(run("berth session ls --key berth_wrong").code()).isEqualTo(77);
        assertThat(run("berth session ls --url http://127.0.0.1:1")).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(69);
            assertThat(ran.err())
                    .contains("there is no server at http://127.0.0.1:1/")
                    .contains("berth up");
        });
        assertThat(run("berth session ls --url nonsense").code()).isEqualTo(2);
        assertThat(run("berth session new 'not a name'").code()).isEqualTo(2);
        assertThat(run("berth session rollback nobody yesterday").code()).isEqualTo(2);
        assertThat(run("berth shell nobody </dev/null")).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err()).contains("berth exec");
        });
    }

    @Test
    void theKeyOfThisMachineIsForAServerOnThisMachineAlone() throws Exception {
        Ran ran = run("berth session ls --url http://berth.example:8080");
        assertThat(ran.code()).isEqualTo(77);
        assertThat(ran.err()).contains("BERTH_API_KEY");
    }

    @Test
    void aCommandHasItsOwnStreamsAndExitCode() throws Exception {
        assertThat(run("berth exec streams 'echo out; echo err >&2; exit 7'")).isEqualTo(new Ran(7, "out\n", "err\n"));
        assertThat(run("berth exec --timeout 1s streams 'echo begun; sleep 60'").code())
                .isEqualTo(124);
        assertThat(run("berth exec --json streams 'echo out; exit 7'")).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(7);
            assertThat(ran.out()).contains("\"stdout\":\"out\\n\"");
        });
        assertThat(run("berth exec streams -- printf '[%s]' 'a b' \"it's\" '$HOME'")
                        .out())
                .isEqualTo("[a b][it's][$HOME]");
        assertThat(run("berth session rm streams").code()).isZero();
    }

    @Test
    void oneBadNameDoesNotSaveTheOthers() throws Exception {
        assertThat(run("berth session new one-good").code()).isZero();
        Ran ran = run("berth session rm nobody one-good");
        assertThat(ran.code()).isEqualTo(66);
        assertThat(ran.out()).isEqualTo("one-good\n");
        assertThat(ran.err()).contains("nobody: there is no such session");
    }

    @Test
    void theOperatorWorksForATenant() throws Exception {
        assertThat(run("berth session new theirs --tenant default").code()).isZero();
        assertThat(run("berth session show theirs --json").out()).contains("\"tenant_id\":\"default\"");
        assertThat(run("berth keys ls --tenant default").out()).contains("berth up");
        assertThat(run("berth session rm theirs --tenant default").code()).isZero();
    }

    @Test
    void directoriesAndHostileNamesAreCopiedOrRefused() throws Exception {
        assertThat(run("berth cp . copies:x").err()).contains("-r");
        assertThat(run("berth cp nothing copies:x").code()).isEqualTo(66);
        assertThat(run("berth cp a b").code()).isEqualTo(2);
        assertThat(run("printf bytes | berth cp - copies:from-stdin && berth cp copies:from-stdin -"))
                .isEqualTo(new Ran(0, "bytes", ""));
        assertThat(
                        run(
                                "mkdir -p t && echo x > 't/a & b|c' && berth cp -r t 'copies:in & out' && berth exec copies 'cat in*/*'"))
                .isEqualTo(new Ran(0, "x\n", ""));
        assertThat(run("berth cp copies:no/such . ").code()).isEqualTo(66);
        assertThat(run("berth session rm copies").code()).isZero();
    }
}
