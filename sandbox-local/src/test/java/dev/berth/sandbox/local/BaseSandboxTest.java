package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A sandbox of the template base is a computer to work with. Needs root and crun; builds base unless it is there. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class BaseSandboxTest {
    private TestMachine machine;
    private Sandbox sandbox;

    @BeforeAll
    void create() {
        TestingTemplates.base();
        machine = new TestMachine(RuntimeKind.CRUN);
        sandbox = machine.provider().create(SandboxSpec.of("base", "base"));
    }

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bash --version",
                "python3 --version",
                "python -c 'import venv, json, sqlite3, ssl'",
                "pip --version",
                "node --version",
                "npm --version",
                "git --version",
                "curl --version",
                "rg --version",
                "ps aux",
                "jq --version"
            })
    void hasWhatAnAgentExpects(String line) {
        Result result = sandbox.run(Command.shell(line));
        assertThat(result.code()).as(result.stderr()).isZero();
    }

    @Test
    void letsTheUserBecomeRootInside() {
        Result result = sandbox.run(
                Command.shell("sudo -n id -u && sudo touch /usr/local/bin/tool && ls -l /usr/local/bin/tool"));
        assertThat(result.stderr()).isEmpty();
        assertThat(result.stdout()).startsWith("0\n").contains("root root");
    }

    @Test
    void keepsWhatIsInstalledToItself() {
        sandbox.run(Command.shell("sudo sh -c 'echo changed > /etc/motd; rm /usr/bin/jq'"));
        Sandbox other = machine.provider().create(SandboxSpec.of("other", "base"));
        assertThat(other.run(Command.shell("cat /etc/motd; jq --version")).code())
                .isZero();
        assertThat(other.run(Command.shell("cat /etc/motd")).stdout()).doesNotContain("changed");
    }

    @Test
    void movesADirectoryOfItsTemplate() {
        Result result =
                sandbox.run(Command.shell("sudo mv /usr/share/doc /usr/share/docs && ls /usr/share/docs | head -1"));
        assertThat(result.code()).as(result.stderr()).isZero();
        assertThat(result.stdout()).isNotBlank();
    }

    @Test
    void startsWhatItsTemplateDeclaresAtEveryBoot() throws Exception {
        TestingTemplates.build("serving", "from base\nstart python3 -m http.server 8123");
        Sandbox serving = machine.provider().create(SandboxSpec.of("serving", "serving"));
        awaitPort(serving, 8123);
        serving.stop();
        serving.wake();
        awaitPort(serving, 8123);
        assertThat(serving.commands()).anyMatch(command -> command.tag().equals("start"));
    }

    private static void awaitPort(Sandbox sandbox, int port) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            try (Connection _ = sandbox.dial(port)) {
                return;
            } catch (SandboxException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND);
                assertThat(System.nanoTime()).as("the declared command listens").isLessThan(deadline);
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
    }

    @Test
    void runsABuildOfItsOwn() {
        Result result = sandbox.run(Command.shell("""
                git init -q repo && cd repo && git config user.email a@b.c && git config user.name n
                echo 'print(sum(range(10)))' > main.py && git add . && git commit -qm first
                python -m venv .venv && .venv/bin/python main.py
                echo 'console.log([1,2,3].map(x => x * 2).join())' > main.js && node main.js
                git log --oneline | wc -l
                """));
        assertThat(result.stdout()).as(result.stderr()).isEqualTo("45\n2,4,6\n1\n");
    }
}
