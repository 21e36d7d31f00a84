package dev.berth.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
final class InterpreterRestartTest {
    @Test
    void keepsStateWhenTheServerIsRestarted() {
        try (RunFixture fixture = new RunFixture()) {
            try (Session session = fixture.session("one")) {
                fixture.keep(session, Language.PYTHON, "x = 41; print('first')");
                fixture.keep(session, Language.BASH, "x=41; cd /tmp");
                fixture.keep(session, Language.NODE, "let x = 41");
            }
            fixture.restart();
            try (Session session = fixture.session("one")) {
                ExecuteResult python = fixture.keep(session, Language.PYTHON, "print('second'); x + 1");
                assertThat(python.result()).contains("42");
                assertThat(python.run().stdout()).isEqualTo("second\n");
                assertThat(python.restarted()).isFalse();
                assertThat(fixture.keep(session, Language.BASH, "echo $x $PWD")
                                .run()
                                .stdout())
                        .isEqualTo("41 /tmp\n");
                assertThat(fixture.keep(session, Language.NODE, "x + 1").result())
                        .contains("42");
            }
        }
    }

    @Test
    void goesOnWhereAServerDiedInTheMiddleOfACall() throws IOException {
        try (RunFixture fixture = new RunFixture()) {
            try (Session session = fixture.session("one")) {
                fixture.keep(session, Language.PYTHON, "x = 41");
                var info = session.sandbox().commands().getFirst();
                try (RunningCommand interpreter =
                        session.sandbox().attach(info.id(), info.stdoutEnd(), info.stderrEnd())) {
                    String call = new String(
                            Driver.PYTHON.request("00", 10, "import time; print('old'); time.sleep(4); x += 1"),
                            StandardCharsets.US_ASCII);
                    interpreter.stdin().write((call + "\n00 10 100 aGFsZiBhIH").getBytes(StandardCharsets.US_ASCII));
                }
            }
            fixture.restart();
            try (Session session = fixture.session("one")) {
                assertThatThrownBy(() -> fixture.keep(session, Language.PYTHON, "x = 0", Duration.ofSeconds(1)))
                        .isInstanceOfSatisfying(
                                SandboxException.class,
                                e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
                ExecuteResult next = fixture.keep(session, Language.PYTHON, "print('new'); x");
                assertThat(next.run().stdout()).isEqualTo("new\n");
                assertThat(next.result()).contains("42");
            }
        }
    }
}
