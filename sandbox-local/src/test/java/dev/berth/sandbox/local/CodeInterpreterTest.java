package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.InterpreterClient.Answer;
import dev.berth.sandbox.local.InterpreterClient.Lines;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** A sandbox of the template code-interpreter-v1 runs code for port 49999. Needs root and crun; builds the template. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class CodeInterpreterTest {
    private TestMachine machine;
    private Sandbox sandbox;
    private InterpreterClient client;
    private final List<String> contexts = new ArrayList<>();

    @BeforeAll
    void create() throws InterruptedException {
        TestingTemplates.codeInterpreter();
        machine = new TestMachine(RuntimeKind.CRUN);
        sandbox = machine.provider()
                .create(SandboxSpec.of("interpreter", "code-interpreter-v1")
                        .withEnv(Map.of("OF_THE_SANDBOX", "outer")));
        client = new InterpreterClient(sandbox).awaitHealth();
    }

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }

    private JsonNode context(Map<String, ?> wanted) {
        Answer made = client.request("POST", "/contexts", wanted);
        assertThat(made.status()).as(made.text()).isEqualTo(200);
        contexts.add(made.json().path("id").asString());
        return made.json();
    }

    /** The sandbox has as much memory as sandboxes have, which is not enough for the kernels of all tests. */
    @AfterEach
    void removeContexts() {
        contexts.forEach(id -> client.request("DELETE", "/contexts/" + id, Map.of()));
        contexts.clear();
    }

    private static Map<String, Object> in(JsonNode context, String code) {
        return Map.of("code", code, "context_id", context.path("id").asString());
    }

    @Test
    void understandsChartsTablesAndMessages() throws IOException {
        try (var in = getClass().getResourceAsStream("interpreter_test.py")) {
            sandbox.files().write("/tmp/interpreter_test.py", in);
        }
        Result result = sandbox.run(Command.of("python3", "/tmp/interpreter_test.py"));
        assertThat(result.code()).as(result.stderr()).isZero();
        assertThat(result.stderr()).contains("OK");
    }

    @Test
    void keepsStateFromOneExecutionToTheNext() {
        assertThat(client.python("x = 20").of("result")).isEmpty();
        Lines lines = client.python("x += 1; print('x is', x)\nx * 2");
        assertThat(lines.text("stdout")).isEqualTo("x is 21\n");
        assertThat(lines.of("stdout").getFirst().path("timestamp").asString()).satisfies(Instant::parse);
        assertThat(lines.result().path("text").asString()).isEqualTo("42");
        assertThat(lines.result().path("is_main_result").asBoolean()).isTrue();
        assertThat(lines.result().has("html")).isFalse();
    }

    @Test
    void countsExecutions() {
        JsonNode context = context(Map.of());
        for (int n = 1; n <= 3; n++) {
            assertThat(client.execute(in(context, "1")).of("number_of_executions"))
                    .extracting(line -> line.path("execution_count").asInt())
                    .containsExactly(n);
        }
    }

    @Test
    void showsResultsInEveryFormTheyHave() {
        Lines lines = client.python("""
                from IPython.display import *
                display(HTML('<b>h</b>')); display(Markdown('# m')); display(Latex('$l$')); display(JSON({'a': [1]}))
                display(Javascript('1')); display(SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'))
                display({'application/pdf': 'cGRm', 'x/y': 'z'}, raw=True)
                'the last'
                """);
        List<JsonNode> results = lines.of("result");
        assertThat(results).hasSize(8);
        assertThat(results.get(0).path("html").asString()).isEqualTo("<b>h</b>");
        assertThat(results.get(0).path("is_main_result").asBoolean()).isFalse();
        assertThat(results.get(1).path("markdown").asString()).isEqualTo("# m");
        assertThat(results.get(2).path("latex").asString()).isEqualTo("$l$");
        assertThat(results.get(3).path("json").path("a").path(0).asInt()).isOne();
        assertThat(results.get(4).path("javascript").asString()).isEqualTo("1");
        assertThat(results.get(5).path("svg").asString()).startsWith("<svg");
        assertThat(results.get(6).path("pdf").asString()).isEqualTo("cGRm");
        assertThat(results.get(6).path("extra").path("x/y").asString()).isEqualTo("z");
        assertThat(results.get(7).path("text").asString()).isEqualTo("the last");
        assertThat(results.get(7).path("is_main_result").asBoolean()).isTrue();
    }

    @Test
    void showsFiguresWithTheirData() {
        Lines lines = client.python("""
                import matplotlib.pyplot as plt
                plt.bar(['a', 'b'], [1, 2]); plt.title('T'); plt.show()
                """);
        assertThat(lines.result().path("png").asString())
                .startsWith("iVBORw0KGgo")
                .doesNotContain("\n");
        assertThat(lines.result().path("text").asString()).startsWith("<Figure");
        JsonNode chart = lines.result().path("chart");
        assertThat(chart.path("type").asString()).isEqualTo("bar");
        assertThat(chart.path("title").asString()).isEqualTo("T");
        assertThat(chart.path("x_label").isNull()).isTrue();
        assertThat(chart.path("elements").path(1).toString())
                .isEqualTo("{\"label\":\"b\",\"value\":2,\"group\":\"Group 0\"}");
    }

    @Test
    void showsTablesWithTheirData() {
        Lines lines = client.python("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [0.5, None]})");
        assertThat(lines.result().path("html").asString()).contains("<table");
        assertThat(lines.result().path("data").toString()).isEqualTo("{\"a\":[1,2],\"b\":[0.5,null]}");
    }

    @Test
    void tellsErrorsOfTheCode() {
        JsonNode error = client.python("1 / 0").error();
        assertThat(error.path("name").asString()).isEqualTo("ZeroDivisionError");
        assertThat(error.path("value").asString()).isEqualTo("division by zero");
        assertThat(error.path("traceback").asString()).contains("----> 1 1 / 0").doesNotContain("\u001b");
        assertThat(client.python("def f(:").error().path("name").asString()).isEqualTo("SyntaxError");
    }

    @Test
    void streamsWhatTheCodeAndItsProgramsWrite() {
        Lines lines =
                client.python("import sys, os\nprint('ü', file=sys.stderr); os.system('echo program')\n!echo shell");
        assertThat(lines.text("stderr")).isEqualTo("ü\n");
        assertThat(lines.text("stdout")).contains("program").contains("shell");
    }

    @Test
    void setsVariablesForOneExecutionOnly() {
        Map<String, String> env = Map.of("OF_THE_SANDBOX", "inner", "FOR_THIS", "it's");
        for (String[] language : new String[][] {
            {"python", "import os; print(os.environ['OF_THE_SANDBOX'], os.environ.get('FOR_THIS', '-'))"},
            {"js", "console.log(process.env.OF_THE_SANDBOX, process.env.FOR_THIS ?? '-')"},
            {"bash", "echo $OF_THE_SANDBOX ${FOR_THIS:--}"},
        }) {
            assertThat(client.execute(Map.of("code", language[1], "language", language[0], "env_vars", env))
                            .text("stdout"))
                    .isEqualTo("inner it's\n");
            assertThat(client.run(language[0], language[1]).text("stdout")).isEqualTo("outer -\n");
        }
    }

    @Test
    void hasContextsWithDirectoriesOfTheirOwn() {
        assertThat(client.request("GET", "/contexts", Map.of()).json())
                .extracting(context -> context.path("language").asString())
                .startsWith("python", "javascript");
        JsonNode made = context(Map.of("cwd", "/tmp", "language", "python"));
        assertThat(made.path("language").asString()).isEqualTo("python");
        assertThat(made.path("cwd").asString()).isEqualTo("/tmp");
        List<JsonNode> listed = new ArrayList<>();
        client.request("GET", "/contexts", Map.of()).json().forEach(listed::add);
        assertThat(listed.getLast()).isEqualTo(made);
        assertThat(client.execute(in(made, "import os; own = 1; os.getcwd()"))
                        .result()
                        .path("text")
                        .asString())
                .isEqualTo("/tmp");
        assertThat(client.python("own").error().path("name").asString()).isEqualTo("NameError");
        String path = "/contexts/" + made.path("id").asString();
        assertThat(client.request("POST", path + "/restart", Map.of()).status()).isEqualTo(200);
        assertThat(client.execute(in(made, "own")).error().path("name").asString())
                .isEqualTo("NameError");
        assertThat(client.request("DELETE", path, Map.of()).status()).isEqualTo(200);
        String id = made.path("id").asString();
        assertThat(client.request("DELETE", path, Map.of())).isEqualTo(new Answer(404, "Context " + id + " not found"));
        assertThat(client.request("POST", "/execute", in(made, "1")))
                .isEqualTo(new Answer(404, "Context " + id + " not found"));
    }

    @Test
    void refusesWhatMakesNoSense() {
        assertThat(client.request("POST", "/execute", Map.of("code", "1", "language", "js", "context_id", "x"))
                        .status())
                .isEqualTo(400);
        Answer unknown = client.request("POST", "/execute", Map.of("code", "1", "language", "r"));
        assertThat(unknown.status()).isEqualTo(400);
        assertThat(unknown.text()).contains("python, javascript, typescript, bash");
        assertThat(client.request("POST", "/execute", Map.of("language", "js")).status())
                .isEqualTo(400);
        assertThat(client.request("POST", "/execute", Map.of("code", "1", "env_vars", Map.of("a b", "c")))
                        .status())
                .isEqualTo(400);
        assertThat(client.request("POST", "/contexts", Map.of("cwd", "/no/such"))
                        .status())
                .isEqualTo(400);
        assertThat(client.request("POST", "/contexts", Map.of("language", "java"))
                        .status())
                .isEqualTo(400);
        assertThat(client.request("GET", "/else", Map.of()).status()).isEqualTo(404);
        assertThat(client.request("POST", "/execute", Map.of("code", " ".repeat(17 << 20)))
                        .status())
                .isEqualTo(413);
    }

    @Test
    void runsJavaScript() {
        assertThat(client.run("js", "console.log('Hello World!')").of("stdout"))
                .extracting(line -> line.path("text").asString())
                .containsExactly("Hello World!\n");
        client.run("javascript", "const z = 1");
        assertThat(client.run("js", "const z = 2; z").result().path("text").asString())
                .isEqualTo("2");
        assertThat(client.run("js", "async function f() { return 'Hi' }\nawait f()")
                        .result()
                        .path("text")
                        .asString())
                .isEqualTo("Hi");
        assertThat(client.run(
                                "js",
                                "import { join as j } from 'node:path'\nimport os from 'os'\nj('a', typeof os.cpus)")
                        .result()
                        .path("text")
                        .asString())
                .isEqualTo("a/function");
        assertThat(client.run("js", "(await import('node:fs')).existsSync('/etc') && process.cwd()")
                        .result()
                        .path("text")
                        .asString())
                .isEqualTo("/home/user");
        assertThat(client.run("js", "{ [Symbol.for('Jupyter.display')]() { return { 'text/html': '<i>' } } }")
                        .result()
                        .path("html")
                        .asString())
                .isEqualTo("<i>");
        JsonNode error = client.run("js", "throw new TypeError('bad')").error();
        assertThat(error.path("name").asString()).isEqualTo("TypeError");
        assertThat(error.path("value").asString()).isEqualTo("bad");
        assertThat(error.path("traceback").asString()).startsWith("TypeError: bad\n    at <anonymous>:1:7");
    }

    @Test
    void runsTypeScript() {
        Lines lines =
                client.run("ts", "function minus(x: number, y: number): number {\n  return x - y;\n}\nminus(1, 2)");
        assertThat(lines.result().path("text").asString()).isEqualTo("-1");
        assertThat(lines.of("stderr")).isEmpty();
        assertThat(client.run("typescript", "enum A { X, Y }\nA.Y")
                        .result()
                        .path("text")
                        .asString())
                .isEqualTo("1");
    }

    @Test
    void runsBash() {
        JsonNode context = context(Map.of("language", "bash", "cwd", "/tmp"));
        Lines lines = client.execute(in(context, "pwd; X=5; cd /; echo to-stderr >&2; yes | head -1 & wait"));
        assertThat(lines.text("stdout")).isEqualTo("/tmp\ny\n");
        assertThat(lines.text("stderr")).isEqualTo("to-stderr\n");
        assertThat(lines.of("error")).isEmpty();
        assertThat(client.execute(in(context, "for i in 1 2; do\n echo $i $X\ndone; pwd"))
                        .text("stdout"))
                .isEqualTo("1 5\n2 5\n/\n");
        JsonNode error = client.execute(in(context, "(exit 7)")).error();
        assertThat(error.path("name").asString()).isEqualTo("ExitStatus");
        assertThat(error.path("value").asString()).isEqualTo("7");
        Lines left = client.execute(in(context, "exit 3"));
        assertThat(left.error().path("value").asString()).isEqualTo("3");
        assertThat(left.of("stderr")).isEmpty();
        assertThat(client.execute(in(context, "echo \"[$X]\"")).text("stdout")).isEqualTo("[]\n");
    }

    @Test
    void runsOneExecutionOfAContextAtATime() throws Exception {
        JsonNode context = context(Map.of());
        client.execute(in(context, "import time; busy = False"));
        String code = "assert not busy; busy = True; time.sleep(0.2); busy = False; 'alone'";
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var running = java.util.stream.IntStream.range(0, 4)
                    .mapToObj(_ -> threads.submit(() -> client.execute(in(context, code))))
                    .toList();
            for (var each : running) {
                assertThat(each.get().result().path("text").asString()).isEqualTo("alone");
            }
        }
    }

    @Test
    void saysThatItIsAliveWhileTheCodeIsSilent() {
        JsonNode context = context(Map.of());
        // After 5 s, and once more soon after that, so that one who is gone is noticed; the next would come after 10 s.
        assertThat(client.execute(in(context, "import time; time.sleep(8)")).of("keepalive"))
                .hasSize(2);
    }

    @Test
    void interruptsCodeWhoseClientIsGone() throws IOException {
        record Case(String language, String code, String after) {}
        for (Case each : List.of(
                new Case(
                        "python",
                        "kept = 'kept'; print('begun', flush=True)\nimport time; time.sleep(300)",
                        "print(kept)"),
                new Case("python", "print('begun', flush=True)\nimport os; os.system('sleep 300')", "print(kept)"),
                new Case("js", "var kept = 'kept'; console.log('begun'); while (true) {}", "console.log(kept)"),
                new Case("js", "console.log('begun'); await new Promise(() => {})", "console.log(kept)"),
                new Case("bash", "kept=kept; echo begun; sleep 300; echo never", "echo $kept"))) {
            client.leaveAfter("begun", Map.of("code", each.code(), "language", each.language()));
            Lines lines = client.run(each.language(), each.after());
            assertThat(lines.text("stdout")).as(each.toString()).isEqualTo("kept\n");
        }
    }

    @Test
    void theNextExecutionHasItsOwnAnswerWhenAClientLeavesInTheMiddleOfMuchOutput() throws Exception {
        record Language(String name, String output, String after) {}
        for (Language each : List.of(
                new Language("bash", "head -c %d /dev/zero | tr '\\0' x; (exit 7)", "echo after %d"),
                new Language("js", "process.stdout.write('x'.repeat(%d)); 'old'", "console.log('after', %d)"))) {
            // About as much as there is room for between the program and its client, so that what waits for room when
            // the
            // interrupt comes is now the program, now its kernel.
            for (int megabytes = 6; megabytes <= 13; megabytes++) {
                String code = each.output().formatted(megabytes << 20);
                try (var _ = client.send("POST", "/execute", Map.of("code", code, "language", each.name()))) {
                    TimeUnit.MILLISECONDS.sleep(700);
                }
                Lines lines = client.run(each.name(), each.after().formatted(megabytes));
                assertThat(lines.text("stdout")).as(each + " " + megabytes).isEqualTo("after " + megabytes + "\n");
                assertThat(lines.of("error")).as(each + " " + megabytes).isEmpty();
                assertThat(lines.of("result")).as(each + " " + megabytes).isEmpty();
            }
        }
    }

    @Test
    void variablesStayWhenSomethingInterruptedComesToAnEnd() throws IOException {
        JsonNode context = context(Map.of("language", "js"));
        String id = context.path("id").asString();
        client.leaveAfter(
                "begun",
                Map.of(
                        "code",
                        "console.log('begun'); await new Promise((done) => setTimeout(done, 3000))",
                        "context_id",
                        id,
                        "env_vars",
                        Map.of("WORD", "first")));
        Lines lines = client.execute(Map.of(
                "code",
                "await new Promise((done) => setTimeout(done, 5000)); console.log(process.env.WORD)",
                "context_id",
                id,
                "env_vars",
                Map.of("WORD", "second")));
        assertThat(lines.text("stdout")).isEqualTo("second\n");
    }

    @Test
    void goesOnWhenNothingCanBeWritten() throws Exception {
        // One of its own, since what it has kept by then is all that it starts with again.
        Sandbox full = machine.provider().create(SandboxSpec.of("full", "code-interpreter-v1"));
        try {
            InterpreterClient of = new InterpreterClient(full).awaitHealth();
            assertThat(of.python("1").result().path("text").asString()).isEqualTo("1");
            assertThat(kernels(full)).isOne();
            assertThat(asRoot(full, "chmod 500 /var/lib/interpreter")).isZero();
            Answer refused = of.request("POST", "/contexts", Map.of());
            assertThat(refused.status()).as(refused.text()).isEqualTo(500);
            assertThat(refused.text()).contains("did not start: Permission denied");
            assertThat(kernels(full)).isOne();
            assertThat(of.python("1 + 1").result().path("text").asString()).isEqualTo("2");
            killServer(full);
            of.awaitHealth();
            assertThat(of.python("1 + 2").result().path("text").asString()).isEqualTo("3");
            try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
                var dies = threads.submit(() -> of.python("import os, time; time.sleep(3); os.kill(os.getpid(), 9)"));
                TimeUnit.SECONDS.sleep(1);
                var waits = threads.submit(() -> of.python("1"));
                assertThat(dies.get().error().path("name").asString()).isEqualTo("ContextRestarting");
                assertThat(waits.get().error().path("name").asString()).isEqualTo("ContextFailed");
            }
            assertThat(asRoot(full, "chmod 700 /var/lib/interpreter")).isZero();
            assertThat(of.python("2 + 2").result().path("text").asString()).isEqualTo("4");
        } finally {
            full.destroy();
        }
    }

    private static int asRoot(Sandbox sandbox, String command) {
        return sandbox.run(Command.shell(command).withUser("root")).code();
    }

    private static int kernels(Sandbox sandbox) {
        Result result = sandbox.run(Command.of("pgrep", "-fc", "interpreter kernel"));
        return Integer.parseInt(result.stdout().strip());
    }

    @Test
    void tellsTheLastWordsOfAContext() {
        JsonNode context = context(Map.of("language", "js"));
        for (int i = 0; i < 10; i++) { // a kernel that does not end with its program is a matter of chance
            Lines lines = client.execute(in(context, "console.log('x'.repeat(1000000) + ' last'); process.exit(1)"));
            assertThat(lines.text("stdout")).hasSize(1_000_006).endsWith(" last\n");
            assertThat(lines.error().path("name").asString()).isEqualTo("ContextRestarting");
        }
    }

    @Test
    void startsAnotherKernelWhenOneDies() {
        for (String[] each : new String[][] {
            {"python", "import os; os.kill(os.getpid(), 9)", "print('again')"},
            {"js", "process.exit(1)", "console.log('again')"}
        }) {
            JsonNode context = context(Map.of("language", each[0]));
            Lines lines = client.execute(in(context, each[1]));
            assertThat(lines.error().path("name").asString()).isEqualTo("ContextRestarting");
            assertThat(client.execute(in(context, each[2])).text("stdout")).isEqualTo("again\n");
        }
    }

    @Test
    void losesNothingOfALongOutputToASlowClient() throws Exception {
        for (Map<String, Object> body : List.<Map<String, Object>>of(
                Map.of("code", "for i in range(100_000): print('x' * 99)\nprint('end')"),
                Map.of("code", "yes " + "x".repeat(99) + " | head -100000; echo end", "language", "bash"),
                Map.of(
                        "code",
                        "for (let i = 0; i < 100000; i++) console.log('x'.repeat(99)); console.log('end')",
                        "language",
                        "js"))) {
            try (Connection connection = client.send("POST", "/execute", body)) {
                // long enough for all that lies between to be full
                TimeUnit.MILLISECONDS.sleep(500);
                Lines lines = Lines.of(InterpreterClient.answer(connection.input()));
                assertThat(lines.text("stdout")).hasSize(10_000_004).endsWith("x\nend\n");
            }
        }
        assertThat(memoryOfServer()).as("kilobytes of the server").isLessThan(80_000);
    }

    private long memoryOfServer() {
        Result result =
                sandbox.run(Command.shell("grep VmRSS /proc/$(pgrep -f 'interpreter serve$')/status | tr -dc 0-9"));
        return Long.parseLong(result.stdout().strip());
    }

    @Test
    void leavesOutAResultThatIsTooLarge() {
        assertThat(client.python("'z' * 34_000_000").error().path("name").asString())
                .isEqualTo("OutputTooLarge");
        assertThat(client.python("1 + 1").result().path("text").asString()).isEqualTo("2");
    }

    @Test
    void keepsItsContextsWhenTheServerIsKilled() throws InterruptedException {
        JsonNode context = context(Map.of("cwd", "/tmp"));
        client.execute(in(context, "survives = 'yes'"));
        killServer(sandbox);
        client.awaitHealth();
        assertThat(client.execute(in(context, "survives")).result().path("text").asString())
                .isEqualTo("yes");
    }

    private static void killServer(Sandbox sandbox) throws InterruptedException {
        String before =
                sandbox.run(Command.shell("pgrep -f 'interpreter serve$'")).stdout();
        sandbox.run(Command.of("kill", "-9", before.strip()));
        while (sandbox.run(Command.shell("pgrep -f 'interpreter serve$'"))
                .stdout()
                .equals(before)) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    @Test
    void keepsItsStateOverAPause() {
        Sandbox other = machine.provider().create(SandboxSpec.of("paused", "code-interpreter-v1"));
        InterpreterClient of = new InterpreterClient(other);
        try {
            of.awaitHealth().python("survives = 'yes'");
            other.pause();
            other.wake();
            assertThat(of.python("survives").result().path("text").asString()).isEqualTo("yes");
            other.stop();
            other.wake();
            assertThat(of.awaitHealth().python("survives").error().path("name").asString())
                    .isEqualTo("NameError");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            other.destroy();
        }
    }

    @Test
    void takesRequestsInPiecesAndOneAfterTheOther() throws IOException {
        try (Connection connection = sandbox.dial(InterpreterClient.PORT)) {
            var out = connection.output();
            out.write("GET /health HTTP/1.1\r\n\r\nPOST /contexts/x/restart HTTP/1.1\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
            out.write("POST /execute HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"code\":\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
            out.flush();
            out.write("6\r\n\"6*7\"}\r\n0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.flush();
            String all = new String(connection.input().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(all).contains("\"OK\"").contains("Context x not found").contains("\"text\": \"42\"");
        }
    }
}
