package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What bash itself makes of the script. */
class CompletionCommandTest {
    @TempDir
    Path directory;

    private static String script(String shell) {
        TestConsole console = new TestConsole();
        assertThat(Berth.run(List.of("completion", shell), console.console())).isZero();
        return console.out();
    }

    /** What bash would offer for the last of these words. */
    private List<String> complete(String... words) throws Exception {
        Path berth = directory.resolve("berth");
        if (!Files.exists(berth)) {
            Files.writeString(berth, "#!/bin/sh\nprintf 'demo\\nslack:C1:1.2\\n$(touch pwned)\\n'\n");
            Files.setPosixFilePermissions(berth, PosixFilePermissions.fromString("rwx------"));
        }
        Path script = Files.writeString(directory.resolve("script"), script("bash"));
        List<String> command = new ArrayList<>(
                List.of("bash", "--norc", "-c", """
                        PATH=$1:$PATH; source "$2"; shift 2
                        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf '%s\\n' "${COMPREPLY[@]}\"""", "bash", directory.toString(), script.toString(), "berth"));
        command.addAll(List.of(words));
        return run(command).lines().filter(line -> !line.isEmpty()).toList();
    }

    private String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    @Test
    void bashFindsNothingWrongWithItsScript() throws Exception {
        Path script = Files.writeString(directory.resolve("script"), script("bash"));
        assertThat(run(List.of("bash", "-n", script.toString()))).isEmpty();
    }

    @Test
    void commandsAndTheirVerbsAreCompleted() throws Exception {
        assertThat(complete("se")).containsExactly("session");
        assertThat(complete("")).contains("up", "exec", "shell", "keys").doesNotContain("rehearse");
        assertThat(complete("session", "ro")).containsExactly("rollback");
        assertThat(complete("keys", "")).containsExactlyInAnyOrder("ls", "new", "rotate", "rm");
    }

    @Test
    void optionsOfTheCommandAreCompleted() throws Exception {
        assertThat(complete("exec", "--ti")).containsExactly("--timeout");
        assertThat(complete("session", "new", "--mem")).containsExactly("--memory");
        assertThat(complete("session", "ls", "--h")).containsExactly("--help");
    }

    @Test
    void namesOfSessionsAreCompletedAndNeverEvaluated() throws Exception {
        assertThat(complete("exec", "")).containsExactly("demo", "slack:C1:1.2", "$(touch pwned)");
        assertThat(complete("session", "rm", "de")).containsExactly("demo");
        assertThat(complete("exec", "slack:C")).containsExactly("C1:1.2");
        assertThat(directory.resolve("pwned")).doesNotExist();
    }

    @Test
    void everyShellHasAllCommands() {
        for (String shell : List.of("bash", "zsh", "fish")) {
            assertThat(script(shell)).contains("session", "checkpoint", "timeout");
        }
    }

    @Test
    void anotherShellIsRefused() {
        TestConsole console = new TestConsole();
        assertThat(Berth.run(List.of("completion", "tcsh"), console.console())).isEqualTo(2);
        assertThat(console.err()).contains("tcsh");
    }
}
