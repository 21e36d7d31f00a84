package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.auth.Scope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pastes pages of the documentation into a shell, as a newcomer does. What is printed has to have in it what the lines after
 * {@code #>} say; a variable that is set is there for the commands that follow. Needs root, crun, curl, python3 and ripgrep.
 */
class PagesTest {
    private static final Pattern ASSIGNMENT = Pattern.compile("([A-Z_]+)=.*", Pattern.DOTALL);

    /** A command of the page, and what its output has to have in it. */
    private record Step(String command, List<String> expected) {}

    @ParameterizedTest
    @ValueSource(strings = {"quickstart", "sessions", "approvals", "jobs", "secrets", "network"})
    void everyCommandOfThePageDoesWhatItSays(String page) throws Exception {
        List<Step> steps = steps(Files.readAllLines(Path.of("../docs/" + page + ".md")));
        assertThat(steps).hasSizeGreaterThan(5);
        try (TestingBerth berth = new TestingBerth()) {
            Map<String, String> variables = new HashMap<>();
            variables.put("BERTH", berth.url());
            variables.put("TOKEN", berth.key("default", Scope.ALL));
            for (Step step : steps) {
                Matcher assignment = ASSIGNMENT.matcher(step.command());
                if (assignment.matches()) {
                    String name = assignment.group(1);
                    variables.put(name, run(variables, step.command() + "printf %s \"$" + name + "\""));
                    assertThat(variables.get(name)).as(step.command()).isNotEmpty();
                } else {
                    String output = run(variables, step.command());
                    for (String expected : step.expected()) {
                        assertThat(output).as(step.command()).contains(expected);
                    }
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

    private static String run(Map<String, String> variables, String command) throws Exception {
        ProcessBuilder shell = new ProcessBuilder("bash", "-c", command).redirectErrorStream(true);
        shell.environment().putAll(variables);
        Process process = shell.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(command + output).isZero();
        return output;
    }
}
