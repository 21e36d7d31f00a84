package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.auth.Scope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pastes pages of docs/ into a shell, as a newcomer does. Needs root, crun, curl, python3 and ripgrep. */
class PagesTest {
    /** A command of the page, and what its output has to have in it. */
    private record Step(String command, List<String> expected) {}

    @ParameterizedTest
    @CsvSource({"quickstart, 16", "jobs, 10"})
    void everyCommandOfThePageDoesWhatItSays(String page, int least) throws Exception {
        List<Step> steps = steps(Files.readAllLines(Path.of("../docs/" + page + ".md")));
        assertThat(steps).hasSizeGreaterThanOrEqualTo(least);
        try (TestingBerth berth = new TestingBerth()) {
            String key = berth.key("default", Scope.ALL);
            for (Step step : steps) {
                String output = run(berth.url(), key, step.command());
                for (String expected : step.expected()) {
                    assertThat(output).as(step.command()).contains(expected);
                }
            }
        }
    }

    private static List<Step> steps(List<String> lines) {
        List<Step> steps = new ArrayList<>();
        boolean shell = false;
        StringBuilder command = new StringBuilder();
        for (String line : lines) {
            if (line.startsWith("```")) {
                shell = line.equals("```sh");
            } else if (shell && line.startsWith("#> ")) {
                steps.getLast().expected().add(line.substring(3));
            } else if (shell && !line.startsWith("export ")) {
                command.append(line).append('\n');
                if (!line.endsWith("\\")) {
                    steps.add(new Step(command.toString(), new ArrayList<>()));
                    command.setLength(0);
                }
            }
        }
        return steps;
    }

    private static String run(String url, String key, String command) throws Exception {
        ProcessBuilder shell = new ProcessBuilder("bash", "-c", command).redirectErrorStream(true);
        shell.environment().put("BERTH", url);
        shell.environment().put("TOKEN", key);
        Process process = shell.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(command + output).isZero();
        return output;
    }
}
