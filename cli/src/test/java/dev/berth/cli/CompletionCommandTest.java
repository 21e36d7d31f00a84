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

/** What the shells themselves make of the scripts. */
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
        fakeBerth();
        Path script = Files.writeString(directory.resolve("script"), script("bash"));
        List<String> command = new ArrayList<>(
                List.of("bash", "--norc", "-c", """
                        PATH=$1:$PATH; source "$2"; shift 2
                        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf '%s\\n' "${COMPREPLY[@]}\"""", "bash", directory.toString(), script.toString(), "berth"));
        command.addAll(List.of(words));
        return run(command).lines().filter(line -> !line.isEmpty()).toList();
    }

    /** One that lists sessions, whatever it is asked. */
    private void fakeBerth() throws IOException {
        Path berth = directory.resolve("berth");
        if (!Files.exists(berth)) {
            Files.writeString(berth, "#!/bin/sh\nprintf 'demo\\nslack:C1:1.2\\n$(touch pwned)\\n'\n");
            Files.setPosixFilePermissions(berth, PosixFilePermissions.fromString("rwx------"));
        }
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
        assertThat(complete("ses")).containsExactly("session");
        assertThat(complete("")).contains("up", "exec", "shell", "keys").doesNotContain("rehearse");
        assertThat(complete("session", "ro")).containsExactly("rollback");
        assertThat(complete("keys", "")).containsExactlyInAnyOrder("ls", "new", "rotate", "rm");
        assertThat(complete("secret", "")).containsExactlyInAnyOrder("set", "ls", "rm", "rotate");
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
    void fishCompletesCommandsVerbsOptionsAndSessions() throws Exception {
        assertThat(fish("berth se")).contains("session");
        assertThat(fish("berth session ro")).containsExactly("rollback");
        assertThat(fish("berth exec --ti")).containsExactly("--timeout");
        assertThat(fish("berth exec de")).containsExactly("demo");
        assertThat(fish("berth exec ")).contains("demo", "slack:C1:1.2", "$(touch pwned)");
        assertThat(directory.resolve("pwned")).doesNotExist();
    }

    /** What fish would offer at the end of this line. */
    private List<String> fish(String line) throws Exception {
        fakeBerth();
        Path script = Files.writeString(directory.resolve("script.fish"), script("fish"));
        String offered = run(List.of(
                "fish",
                "--no-config",
                "-c",
                "set -p PATH $argv[1]; source $argv[2]; complete -C $argv[3]",
                directory.toString(),
                script.toString(),
                line));
        return offered.lines().map(it -> it.split("\t")[0]).toList();
    }

    @Test
    void zshCompletesCommandsVerbsOptionsAndSessions() throws Exception {
        assertThat(zsh("se", "se")).anyMatch(it -> it.startsWith("session"));
        assertThat(zsh("ro", "session", "ro")).contains("rollback", "checkpoint");
        assertThat(zsh("--ti", "exec", "--ti")).contains("--timeout");
        assertThat(zsh("", "exec", "")).contains("demo", "slack:C1:1.2", "$(touch pwned)");
        assertThat(directory.resolve("pwned")).doesNotExist();
    }

    /** What the script hands to zsh to choose from, by what starts with the prefix, for these words. */
    private List<String> zsh(String prefix, String... words) throws Exception {
        fakeBerth();
        Path script = Files.writeString(directory.resolve("_berth"), script("zsh"));
        List<String> command = new ArrayList<>(
                List.of("zsh", "-f", "-c", """
                path=($1 $path); PREFIX=$3
                compadd() { shift; print -rl -- "$@"; }
                _describe() { print -rl -- "${(@P)2}"; }
                _files() { : }
                compdef() { : }
                source $2; shift 3; words=("$@"); CURRENT=$#
                _berth""", "zsh", directory.toString(), script.toString(), prefix, "berth"));
        command.addAll(List.of(words));
        return run(command).lines().toList();
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
