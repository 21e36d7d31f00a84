package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.RemoteCli.Ran;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The commands that call a server, as processes of their own, against a server that is one too. Needs root and crun. */
@Timeout(300)
class CliPageTest {
    private static RemoteCli cli;

    /** A command, and what its output has to have in it. */
    private record Step(String command, List<String> expected) {}

    @BeforeAll
    static void start() throws Exception {
        cli = new RemoteCli(Map.of());
    }

    @AfterAll
    static void stop() throws IOException {
        cli.close();
    }

    private static Ran run(String line) throws IOException, InterruptedException {
        return cli.run(line);
    }

    @Test
    void everyCommandOfThePageDoesWhatItSays() throws Exception {
        Path cwd = Files.createDirectories(cli.directory().resolve("page"));
        List<Step> steps = steps(Files.readAllLines(Path.of("../docs/cli.md")));
        assertThat(steps).hasSizeGreaterThan(25);
        for (Step step : steps) {
            Ran ran = cli.run(cwd, step.command());
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
        assertThat(run("berth prompt nobody hello")).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(78);
            assertThat(ran.err()).contains("agent.model.provider and agent.model.name");
        });
        assertThat(run("berth agent use nobody --model alone").err()).contains("--provider and --model");
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
