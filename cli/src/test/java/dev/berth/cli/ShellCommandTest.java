package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The commands that take a whole terminal, on a real one, against a real server. Needs root and crun. */
@Timeout(300)
class ShellCommandTest {
    private static final String PERSON = "person_at_terminal.py";

    private static RemoteCli cli;
    private static Path person;

    @BeforeAll
    static void start() throws Exception {
        cli = new RemoteCli(Map.of());
        person = cli.directory().resolve(PERSON);
        try (InputStream script = ShellCommandTest.class.getResourceAsStream(PERSON)) {
            Files.copy(Objects.requireNonNull(script), person);
        }
    }

    @AfterAll
    static void stop() throws IOException {
        cli.close();
    }

    private static void play(String scene) throws Exception {
        String key = "at-" + scene.replace('_', '-');
        cli.out("berth session new " + key);
        Process process =
                cli.start(new ProcessBuilder("python3", person.toString(), scene, key).redirectErrorStream(true));
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(said).isZero();
        cli.out("berth session rm " + key);
    }

    @Test
    void vimEditsAndSavesAFile() throws Exception {
        play("vim");
    }

    @Test
    void theOtherEndSeesThatTheWindowWasResized() throws Exception {
        play("resize");
    }

    @Test
    void ctrlCIsForTheProgramAndTheShellsExitCodeIsOurs() throws Exception {
        play("interrupt");
    }

    @Test
    void tmuxHasItsPanes() throws Exception {
        boolean there = Files.isExecutable(Path.of("/usr/bin/tmux"));
        if (!there) {
            System.err.println("tmux is not installed, so it is not tried on a terminal");
        }
        Assumptions.assumeTrue(there, "tmux is not installed");
        play("tmux");
    }

    @Test
    void whoeverLeavesComesBackToWhatWasOnTheScreen() throws Exception {
        play("come_back");
    }

    @Test
    void theTerminalIsPutBackAlsoWhenWeAreTerminated() throws Exception {
        play("terminated");
    }

    @Test
    void aWatcherSeesEverythingAndTypesNothing() throws Exception {
        play("watch");
    }

    @Test
    void topIsDrawnAgainAndLeavesTheScreenAsItWas() throws Exception {
        play("top");
    }
}
