package dev.berth.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Change;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.template.TestingTemplates;
import dev.berth.session.Session;
import dev.berth.session.TestingSessions;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(300)
final class InterpreterTest {
    private static final Duration SHORT = Duration.ofSeconds(2);

    private static RunFixture fixture;
    private Session session;

    @BeforeAll
    static void start() {
        fixture = new RunFixture();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @BeforeEach
    void open() {
        session = fixture.newSession();
    }

    @AfterEach
    void close() {
        session.close();
    }

    private ExecuteResult python(String code) {
        return fixture.keep(session, Language.PYTHON, code);
    }

    private ExecuteResult node(String code) {
        return fixture.keep(session, Language.NODE, code);
    }

    private ExecuteResult bash(String code) {
        return fixture.keep(session, Language.BASH, code);
    }

    private static String define(Language language) {
        return switch (language) {
            case BASH -> "x=41";
            case PYTHON -> "x = 41";
            case NODE -> "let x = 41";
        };
    }

    private static String show(Language language) {
        return switch (language) {
            case BASH -> "echo \"x=$x\"";
            case PYTHON -> "print(f'x={x}')";
            case NODE -> "console.log(`x=${x}`)";
        };
    }

    private static String hang(Language language) {
        return switch (language) {
            case BASH -> "echo before; while :; do :; done";
            case PYTHON -> "print('before')\nwhile True: pass";
            case NODE -> "console.log('before'); while (true) {}";
        };
    }

    private static String stubborn(Language language) {
        return switch (language) {
            case BASH -> "trap '' INT; echo before; while :; do sleep 1; done";
            case PYTHON ->
                "import time\nprint('before')\nwhile True:\n  try: time.sleep(9)\n  except BaseException: pass";
            case NODE -> "console.log('before'); await 1; while (true) {}";
        };
    }

    // ---- what lives on -------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void keepsStateFromCallToCall(Language language) {
        ExecuteResult first = fixture.keep(session, language, define(language));
        assertThat(first.run().stderr()).isEmpty();
        assertThat(first.run().ok()).isTrue();
        ExecuteResult second = fixture.keep(session, language, show(language));
        assertThat(second.run().stdout()).isEqualTo("x=41\n");
        assertThat(second.restarted()).isFalse();
        assertThat(second.stateLost()).isFalse();
        assertThat(fixture.once(session, language, show(language)).run().stdout())
                .isNotEqualTo("x=41\n");
    }

    @ParameterizedTest
    @EnumSource
    void keepsStateWhenACallIsInterrupted(Language language) {
        fixture.keep(session, language, define(language));
        ExecuteResult hung = fixture.keep(session, language, hang(language), SHORT);
        assertThat(hung.run().timedOut()).isTrue();
        assertThat(hung.run().exitCode()).isEqualTo(124);
        assertThat(hung.run().stdout()).isEqualTo("before\n");
        assertThat(hung.stateLost()).isFalse();
        ExecuteResult next = fixture.keep(session, language, show(language));
        assertThat(next.run().stdout()).isEqualTo("x=41\n");
        assertThat(next.restarted()).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void killsWhatCannotBeInterruptedAndSaysThatItsStateIsLost(Language language) {
        fixture.keep(session, language, define(language));
        ExecuteResult hung = fixture.keep(session, language, stubborn(language), SHORT);
        assertThat(hung.run().timedOut()).isTrue();
        assertThat(hung.run().stdout()).isEqualTo("before\n");
        assertThat(hung.stateLost()).isTrue();
        ExecuteResult next = fixture.keep(session, language, define(language));
        assertThat(next.restarted()).isTrue();
        assertThat(next.run().ok()).isTrue();
        assertThat(fixture.keep(session, language, show(language)).restarted()).isFalse();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "BASH ~ echo bye; exit 7 ~ 7",
                "PYTHON ~ import os; print('bye', flush=True); os._exit(7) ~ 7",
                "NODE ~ console.log('bye'); process.exit(7) ~ 7",
                "PYTHON ~ import os, signal; print('bye'); os.kill(os.getpid(), signal.SIGKILL) ~ 137"
            })
    void startsAnotherWhenOneHasEnded(Language language, String code, int exitCode) {
        fixture.keep(session, language, define(language));
        ExecuteResult last = fixture.keep(session, language, code);
        assertThat(last.run().exitCode()).isEqualTo(exitCode);
        assertThat(last.run().stdout()).isEqualTo("bye\n");
        assertThat(last.stateLost()).isTrue();
        ExecuteResult next = fixture.keep(session, language, show(language));
        assertThat(next.restarted()).isTrue();
        assertThat(next.run().stdout()).isNotEqualTo("x=41\n");
    }

    @Test
    void startsAnotherAfterTheSandboxWasStopped() {
        python("x = 1");
        session.sandbox().stop();
        session.sandbox().wake();
        assertThat(python("'x' in globals()"))
                .satisfies(result -> assertThat(result.restarted()).isTrue())
                .satisfies(result -> assertThat(result.result()).contains("False"));
    }

    @Test
    void keepsContextsApart() {
        ExecuteRequest request = ExecuteRequest.of(Language.PYTHON, "x = 1", RunFixture.CWD);
        fixture.interpreter().execute(session, ToolSettings.DEFAULT, request.inContext("a"));
        assertThat(fixture.interpreter()
                        .execute(
                                session,
                                ToolSettings.DEFAULT,
                                ExecuteRequest.of(Language.PYTHON, "'x' in globals()", RunFixture.CWD)
                                        .inContext("b"))
                        .result())
                .contains("False");
        fixture.interpreter().end(session, Language.PYTHON, "a");
        assertThat(session.sandbox().commands()).hasSize(1);
    }

    @Test
    void callsOfOneInterpreterWaitForOneAnother() throws Exception {
        python("n = 0");
        List<Future<ExecuteResult>> calls = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 10; i++) {
                calls.add(threads.submit(() -> python("import time; m = n; time.sleep(0.05); n = m + 1; print(n)")));
            }
            for (Future<ExecuteResult> call : calls) {
                assertThat(call.get().run().stdout()).matches("\\d+\n");
            }
        }
        assertThat(python("n").result()).contains("10");
    }

    @Test
    void refusesACallThatWaitedInVain() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            python("1");
            Future<ExecuteResult> long_ = threads.submit(() ->
                    python("import os, time; open('on', 'w')\nwhile not os.path.exists('off'): time.sleep(0.02)"));
            while (!session.sandbox().files().exists("/workspace/on")) {
                Thread.sleep(20);
            }
            assertThatThrownBy(() -> fixture.keep(session, Language.PYTHON, "1", Duration.ofSeconds(1)))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT))
                    .hasMessageContaining("busy");
            session.sandbox().files().write("/workspace/off", new ByteArrayInputStream(new byte[0]));
            assertThat(long_.get().run().ok()).isTrue();
        }
    }

    @Test
    void doesNotMixUpWhatIsPrintedBetweenCallsWithACall() throws Exception {
        python("""
                import threading, time
                def late():
                    time.sleep(0.3)
                    print('late', flush=True)
                    open('said', 'w')
                threading.Thread(target=late).start()
                """);
        while (!session.sandbox().files().exists("/workspace/said")) {
            Thread.sleep(20);
        }
        assertThat(python("print('now')").run().stdout()).isEqualTo("now\n");
    }

    @Test
    void cannotBeConfusedByCodeThatPrintsWhatLooksLikeAMark() {
        String hostile = "import sys, os\nfor c in '<>': sys.stdout.write('\\0' + '0' * 32 + c + '{\"code\":0}\\n')\n"
                + "os.write(1, b'\\0\\0' + b'f' * 32 + b'>\\n')\nprint('end')";
        ExecuteResult result = python(hostile);
        assertThat(result.run().stdout())
                .isEqualTo("\0" + "0".repeat(32) + "<{\"code\":0}\n\0" + "0".repeat(32) + ">{\"code\":0}\n\0\0"
                        + "f".repeat(32) + ">\nend\n");
        assertThat(python("1 + 1").result()).contains("2");
    }

    @Test
    void survivesAMemoryBomb() {
        python("x = 1");
        ExecuteResult bomb = python("a = []\nwhile True: a.append(bytearray(1 << 24))");
        assertThat(bomb.run().limitsHit()).contains(Limit.MEMORY);
        assertThat(bomb.run().ok()).isFalse();
        assertThat(bomb.stateLost()).isTrue();
        ExecuteResult next = python("1 + 1");
        assertThat(next.result()).contains("2");
        assertThat(next.restarted()).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void takesHugeOutput(Language language) {
        String code = switch (language) {
            case BASH -> "seq 1 1000000";
            case PYTHON -> "import sys; sys.stdout.write('\\n'.join(map(str, range(1, 1000001))) + '\\n'); None";
            case NODE ->
                "process.stdout.write(Array.from({length: 1000000}, (_, i) => i + 1 + '\\n').join('')); undefined";
        };
        ExecuteResult result = fixture.keep(session, language, code);
        assertThat(result.run().stdout()).startsWith("1\n2\n").endsWith("999999\n1000000\n");
        assertThat(result.run().truncated()).isTrue();
        assertThat(fixture.outputs()
                        .read(session.key(), result.run().outputId().orElseThrow(), OutputStore.Stream.STDOUT, 0, 1)
                        .total())
                .isEqualTo(6_888_896);
        assertThat(fixture.keep(session, language, define(language)).run().ok()).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void leavesNoFileInTheWorkspace(Language language) {
        fixture.keep(session, language, define(language));
        fixture.once(session, language, define(language));
        assertThat(session.sandbox().files().list(RunFixture.CWD, 5)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void worksInTheBaseTemplateForAUserWhoIsNotRoot(Language language) {
        TestingTemplates.base();
        try (Session base = fixture.newSession(TestingSessions.SPEC.withTemplate("base"))) {
            fixture.keep(base, language, define(language));
            ExecuteResult hung = fixture.keep(base, language, hang(language), SHORT);
            assertThat(hung.run().timedOut()).isTrue();
            assertThat(hung.stateLost()).isFalse();
            assertThat(fixture.keep(base, language, show(language)).run().stdout())
                    .isEqualTo("x=41\n");
            assertThat(fixture.once(base, language, define(language)).run().ok())
                    .isTrue();
        }
    }

    @Test
    void tellsWhatCodeChanged() {
        ExecuteRequest request = ExecuteRequest.of(Language.PYTHON, "open('new', 'w').write('123')", RunFixture.CWD);
        ExecuteResult result = fixture.interpreter()
                .execute(session, ToolSettings.DEFAULT, request.stateful().withChanges());
        assertThat(result.run().changes().orElseThrow()).contains(new Change(Change.Kind.CREATED, "/workspace/new", 3));
        assertThat(result.result()).contains("3");
    }

    // ---- python --------------------------------------------------------------------------------------------------

    @Test
    void givesTheLastExpressionOfPython() {
        assertThat(python("x = [1, 'é']\nx").result()).contains("[1, 'é']");
        assertThat(python("x = 1").result()).isEmpty();
        assertThat(python("None").result()).isEmpty();
        assertThat(python("'a' * 200_000").result().orElseThrow()).endsWith("characters are left out here]");
        ExecuteResult once = fixture.once(session, Language.PYTHON, "print('no newline', end='')\n6 * 7");
        assertThat(once.result()).contains("42");
        assertThat(once.run().stdout()).isEqualTo("no newline");
        assertThat(once.run().stderr()).isEmpty();
    }

    @Test
    void showsTracebacksOfPythonWithoutOurs() {
        ExecuteResult thrown = python("def f():\n  1/0\nf()");
        assertThat(thrown.run().exitCode()).isEqualTo(1);
        assertThat(thrown.run().stderr())
                .startsWith("Traceback (most recent call last):\n  File \"<call 1>\", line 3, in <module>\n    f()\n")
                .endsWith("ZeroDivisionError: division by zero\n")
                .doesNotContain("<string>");
        assertThat(python("x = (").run().stderr())
                .startsWith("  File \"<call 2>\", line 1\n")
                .contains("SyntaxError: ");
    }

    @Test
    void handlesWhatPythonCodeDoesToItsStreams() {
        assertThat(python("input()").run().stderr()).contains("EOFError");
        assertThat(python("import sys; sys.stdout.close(); sys.stderr.close()")
                        .run()
                        .timedOut())
                .isFalse();
        assertThat(python("import os; os.close(1); os.close(2); os.close(0)")
                        .run()
                        .timedOut())
                .isFalse();
        assertThat(python("sys.stdout = None").run().ok()).isTrue();
        assertThat(python("print('ok'); os.system('echo child; cat')").run().stdout())
                .isEqualTo("ok\nchild\n");
        assertThat(python("print('\\udcff')").run().stdout()).isEqualTo("\\udcff\n");
    }

    @Test
    void keepsPythonWhenItsCodeExits() {
        python("x = 1");
        ExecuteResult exit = python("import sys; sys.exit(3)");
        assertThat(exit.run().exitCode()).isEqualTo(3);
        assertThat(exit.stateLost()).isFalse();
        ExecuteResult said = python("sys.exit('so long')");
        assertThat(said.run().exitCode()).isEqualTo(1);
        assertThat(said.run().stderr()).isEqualTo("so long\n");
        assertThat(python("x").result()).contains("1");
        assertThat(fixture.once(session, Language.PYTHON, "import sys; sys.exit(3)")
                        .run()
                        .exitCode())
                .isEqualTo(3);
    }

    @Test
    void waitsForTheThreadsAndTheExitOfAFreshProgram() {
        assertThat(fixture.once(
                                session,
                                Language.PYTHON,
                                "import atexit, threading, time\natexit.register(print, 'exit')\n"
                                        + "threading.Thread(target=lambda: (time.sleep(0.3), print('thread'))).start()\n1")
                        .run()
                        .stdout())
                .isEqualTo("thread\nexit\n");
        ExecuteResult node = fixture.once(session, Language.NODE, "setTimeout(() => console.log('timer'), 300); 1");
        assertThat(node.run().stdout()).isEqualTo("timer\n");
        assertThat(node.result()).contains("1");
    }

    @Test
    void hasThePartialOutputOfAFreshProgramThatRanOutOfTime() {
        ExecuteResult result = fixture.interpreter()
                .execute(
                        session,
                        ToolSettings.DEFAULT,
                        ExecuteRequest.of(Language.PYTHON, hang(Language.PYTHON), RunFixture.CWD)
                                .withTimeout(SHORT)
                                .withEnv(Map.of("A", "b")));
        assertThat(result.run().timedOut()).isTrue();
        assertThat(result.run().stdout()).isEqualTo("before\n");
    }

    // ---- node ----------------------------------------------------------------------------------------------------

    @Test
    void runsNodeAsItsReplDoes() {
        fixture.bash(session, "echo 'exports.n = 5' > mod.js");
        assertThat(node("const {n} = require('./mod.js'); n").result()).contains("5");
        assertThat(node("const y = await Promise.resolve({a: [1, 'é']}); y").result())
                .contains("{ a: [ 1, 'é' ] }");
        assertThat(node("async function main() { return y.a[0] + n }\nmain()").result())
                .contains("6");
        ExecuteResult thrown = node("function f() { throw new Error('boom') }\nf()");
        assertThat(thrown.run().exitCode()).isEqualTo(1);
        assertThat(thrown.run().stderr())
                .startsWith("Uncaught Error: boom\n    at f (call-")
                .doesNotContain("[eval]")
                .doesNotContain("node:");
        assertThat(node("x = (").run().stderr()).contains("SyntaxError");
        assertThat(node("undefined").result()).isEmpty();
    }

    @Test
    void interruptsANodeThatWaits() {
        node("let x = 41");
        ExecuteResult hung = fixture.keep(session, Language.NODE, "await new Promise(() => {})", SHORT);
        assertThat(hung.run().timedOut()).isTrue();
        assertThat(hung.stateLost()).isFalse();
        assertThat(node("x").result()).contains("41");
    }

    // ---- bash ----------------------------------------------------------------------------------------------------

    @Test
    void keepsWhatBashKeeps() {
        assertThat(bash("f() { echo \"f $1\"; }; declare y=6; mkdir d; cd d; false")
                        .run()
                        .exitCode())
                .isEqualTo(1);
        assertThat(bash("f $y; pwd; read line; echo \"read $?\"").run().stdout())
                .isEqualTo("f 6\n/workspace/d\nread 1\n");
        assertThat(bash("exec > /dev/null; echo gone").run().stdout()).isEmpty();
        assertThat(bash("if then").run().stderr()).contains("syntax error");
        assertThat(bash("echo ${unset:?is not set}; echo no").run()).satisfies(run -> {
            assertThat(run.stdout()).isEmpty();
            assertThat(run.ok()).isFalse();
        });
        assertThat(bash("set -x; echo traced").run().stderr()).isEqualTo("++ echo traced\n");
        ExecuteResult last = bash("printf 'no newline'");
        assertThat(last.run().stdout()).isEqualTo("no newline");
        assertThat(last.run().stderr()).isEmpty();
        assertThat(last.restarted()).isFalse();
        assertThat(last.result()).isEmpty();
    }

    @Test
    void interruptsWhatBashWaitsFor() {
        bash("x=41");
        ExecuteResult hung = fixture.keep(session, Language.BASH, "f() { sleep 60; }; f; f; echo after", SHORT);
        assertThat(hung.run().timedOut()).isTrue();
        assertThat(hung.run().stdout()).isEmpty();
        assertThat(hung.stateLost()).isFalse();
        assertThat(bash("echo $x").run().stdout()).isEqualTo("41\n");
    }

    // ---- what is refused -----------------------------------------------------------------------------------------

    @Test
    void refusesALanguageThatIsNotAllowed() {
        ToolSettings settings = new ToolSettings(
                SHORT, Duration.ofSeconds(60), 65_536, EnumSet.of(Language.BASH, Language.NODE), Map.of(), false);
        assertThatThrownBy(() -> fixture.interpreter()
                        .execute(session, settings, ExecuteRequest.of(Language.PYTHON, "1", RunFixture.CWD)))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DENIED))
                .hasMessage("python is not allowed here; allowed are bash, node");
    }

    @ParameterizedTest
    @CsvSource({"PYTHON, false", "PYTHON, true", "NODE, false", "NODE, true"})
    void saysWhenTheSandboxHasNoSuchLanguage(Language language, boolean stateful) {
        try (Session without =
                fixture.newSession(TestingSessions.SPEC.withEnv(Map.of("PATH", "/nowhere:/workspace/bin")))) {
            without.sandbox().files().makeDirectory("/workspace/bin");
            without.sandbox().run(Command.of("/bin/ln", "-s", "/bin/bash", "/workspace/bin/bash"));
            ExecuteRequest request = ExecuteRequest.of(language, "1", RunFixture.CWD);
            assertThatThrownBy(() -> fixture.interpreter()
                            .execute(without, ToolSettings.DEFAULT, stateful ? request.stateful() : request))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED))
                    .hasMessageContaining("cannot run " + language + " code");
        }
    }
}
