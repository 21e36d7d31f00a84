package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class RunCommandTest {
    @Test
    void takesOneWordForALineOfBash() {
        assertThat(command("echo hi | wc -c").argv()).containsExactly("bash", "-c", "echo hi | wc -c");
    }

    @Test
    void takesWhatFollowsTwoDashesForAProgramEvenIfItIsOneWord() {
        assertThat(command("--", "python3", "-c", "print(1)").argv()).containsExactly("python3", "-c", "print(1)");
        assertThat(command("--", "my program").argv()).containsExactly("my program");
    }

    @Test
    void takesSeveralWordsForAProgramAndItsOptions() {
        assertThat(command("-i", "ls", "-l", "--all").argv()).containsExactly("ls", "-l", "--all");
    }

    @Test
    void startsAShellOnATerminalThatIsGivenNothingToRun() {
        assertThat(command("-it").argv()).containsExactly("bash");
        assertThatThrownBy(() -> command("-i")).isInstanceOf(UsageException.class);
    }

    @Test
    void passesOnHowToRun() {
        Command command = command(
                "-i", "-e", "A=1", "--env=B=x=y", "-e", "C=", "-u", "root", "-w", "/tmp", "--timeout", "30s", "true");
        assertThat(command.env())
                .containsEntry("A", "1")
                .containsEntry("B", "x=y")
                .containsEntry("C", "");
        assertThat(command.user()).contains("root");
        assertThat(command.cwd()).contains("/tmp");
        assertThat(command.timeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(command.stdinOpen()).isTrue();
    }

    @Test
    void leavesStandardInputAloneUnlessAsked() {
        assertThat(command("true").stdinOpen()).isFalse();
    }

    @Test
    void refusesADirectoryThatIsNotAbsolute() {
        assertThatThrownBy(() -> command("-w", "tmp", "true")).isInstanceOf(SandboxException.class);
    }

    @Test
    void keepsTheDefaultOfEveryLimitThatIsNotNamed() {
        assertThat(RunCommand.limits(parse("true"))).isEqualTo(Limits.DEFAULT);
        assertThat(RunCommand.limits(parse("--memory", "1g", "--pids", "64", "--cpus", "0.5", "--disk", "2g", "true")))
                .isEqualTo(Limits.DEFAULT
                        .withMemory(1L << 30)
                        .withPids(64)
                        .withCpus(0.5)
                        .withDisk(2L << 30));
    }

    @Test
    void refusesToShapeASandboxThatExists() {
        Arguments arguments = parse("--sandbox", "run-1", "--memory", "1g", "true");
        assertThatThrownBy(() -> RunCommand.refuseWhatOnlyANewOneTakes(arguments))
                .hasMessage("--memory is for a new sandbox; --sandbox takes one as it is");
        RunCommand.refuseWhatOnlyANewOneTakes(parse("--sandbox", "run-1", "-i", "true"));
    }

    private static Command command(String... words) {
        return RunCommand.command(parse(words));
    }

    private static Arguments parse(String... words) {
        return new RunCommand().syntax().parse(List.of(words));
    }
}
