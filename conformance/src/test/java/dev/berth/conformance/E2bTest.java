package dev.berth.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.berth.conformance.NodeReport.Case;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.opentest4j.TestAbortedException;

/**
 * E2B's own clients as npm has them, against the server as it is installed. The cases are the TypeScript in {@code e2b/src};
 * each is a test here, by its name.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 45, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class E2bTest {
    private static final Path SUITE = Path.of("e2b").toAbsolutePath();
    private static final Path REPORTS = Path.of("target", "e2b").toAbsolutePath();

    /** Under these the server is killed, or what it holds is counted, so that they cannot run among others. */
    private static final Set<String> ALONE = Set.of("many.test.ts", "restart.test.ts");

    /**
     * How many cases each file has at least: a file that is lost, emptied or cut short fails, where it would only be missed.
     * To be raised along with the cases.
     */
    private static final Map<String, Integer> LEAST = new TreeMap<>(Map.ofEntries(
            entry("cli.test.ts", 11),
            entry("commands.test.ts", 53),
            entry("errors.test.ts", 36),
            entry("filesystem.test.ts", 81),
            entry("git.test.ts", 16),
            entry("interpreter.test.ts", 43),
            entry("lifecycle.test.ts", 86),
            entry("many.test.ts", 17),
            entry("native.test.ts", 8),
            entry("ports.test.ts", 28),
            entry("pty.test.ts", 16),
            entry("restart.test.ts", 13),
            entry("secrets.test.ts", 7),
            entry("state.test.ts", 40),
            entry("templates.test.ts", 36),
            entry("volumes.test.ts", 18)));

    private Npm npm;
    private @Nullable Product product;

    @BeforeAll
    void open() throws Exception {
        npm = Npm.install(SUITE);
        TestingTemplates.base();
        TestingTemplates.codeInterpreter();
        product = new Product();
        product.start();
        Files.createDirectories(REPORTS);
    }

    @AfterAll
    void close() throws Exception {
        Product started = product;
        if (started == null) {
            return; // what was wrong is told by open()
        }
        try (started) {
            started.stop();
            Files.createDirectories(REPORTS);
            if (Files.exists(started.log())) {
                Files.copy(started.log(), REPORTS.resolve("server.log"), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    @TestFactory
    Stream<DynamicNode> cases() throws Exception {
        List<Path> files;
        try (Stream<Path> sources = Files.list(SUITE.resolve("src"))) {
            files = sources.filter(it -> it.toString().endsWith(".test.ts"))
                    .sorted()
                    .toList();
        }
        List<Path> alone = files.stream()
                .filter(it -> ALONE.contains(it.getFileName().toString()))
                .toList();
        List<Path> together = files.stream().filter(it -> !alone.contains(it)).toList();
        String types = types();
        List<NodeReport> reports = new ArrayList<>(List.of(run("together", 3, together)));
        for (Path file : alone) {
            reports.add(run(file.getFileName().toString(), 1, List.of(file)));
        }
        List<Case> cases = reports.stream().flatMap(it -> it.cases().stream()).toList();
        printSkipped(cases);
        return Stream.concat(
                Stream.of(
                        dynamicTest(
                                "the suite's types fit the SDKs'",
                                () -> assertThat(types).isEmpty()),
                        dynamicTest("node has no failure that is no case's", () -> failsByCasesAlone(reports)),
                        dynamicTest("every file has the cases that it had", () -> hasAllCases(cases))),
                grouped(cases));
    }

    private static void failsByCasesAlone(List<NodeReport> reports) {
        for (NodeReport report : reports) {
            boolean failed = report.cases().stream().anyMatch(it -> it.failure().isPresent());
            assertThat(report.exitCode() == 0 || failed)
                    .as("node ended with %d, and no case failed: target/e2b/*.txt tells more", report.exitCode())
                    .isTrue();
        }
    }

    private static void hasAllCases(List<Case> cases) {
        Map<String, Integer> ran = new TreeMap<>();
        cases.stream().filter(it -> it.skipped().isEmpty()).forEach(it -> ran.merge(it.file(), 1, Integer::sum));
        assertThat(ran.keySet()).isEqualTo(LEAST.keySet());
        LEAST.forEach((file, least) ->
                assertThat(ran.get(file)).as("cases of " + file).isGreaterThanOrEqualTo(least));
    }

    /** What the compiler says of the suite. */
    private String types() throws IOException, InterruptedException {
        Process compiler = new ProcessBuilder(
                        npm.node().toString(), "node_modules/typescript/bin/tsc", "--noEmit", "-p", ".")
                .directory(SUITE.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(compiler.getInputStream().readAllBytes(), UTF_8);
        return compiler.waitFor() == 0 ? "" : said;
    }

    private NodeReport run(String name, int atOnce, List<Path> files) throws IOException, InterruptedException {
        Path report = REPORTS.resolve(name + ".xml");
        Files.deleteIfExists(report);
        List<String> command = new ArrayList<>(List.of(
                npm.node().toString(),
                "--require",
                SUITE.resolve("src/names.cjs").toString(),
                "--test",
                "--test-force-exit", // a connection that a client keeps is no reason to wait
                "--test-concurrency=" + atOnce,
                "--test-timeout=180000",
                "--test-reporter=spec",
                "--test-reporter-destination=stdout",
                "--test-reporter=junit",
                "--test-reporter-destination=" + report));
        files.forEach(it -> command.add(it.toString()));
        ProcessBuilder builder = new ProcessBuilder(command).directory(SUITE.toFile());
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(it -> it.startsWith("E2B_") || it.startsWith("BERTH_"));
        environment.put("E2B_API_URL", product.url().toString());
        environment.put("E2B_SANDBOX_URL", product.url().toString());
        environment.put("E2B_VOLUME_API_URL", product.url().toString());
        environment.put(
                "E2B_API_KEY",
                Files.readString(product.data().resolve("keys/e2b")).strip());
        environment.put(
                "NODE_EXTRA_CA_CERTS", product.data().resolve("e2b/ca.pem").toString());
        environment.put("BERTH_CONTROL", product.control().toString());
        environment.put("BERTH_DATA", product.data().toString());
        environment.put("BERTH_CLI", product.cli());
        environment.put("BERTH_REGISTRY", product.registry());
        Process node = builder.redirectErrorStream(true)
                .redirectOutput(REPORTS.resolve(name + ".txt").toFile())
                .start();
        try {
            return NodeReport.read(node.waitFor(), report);
        } finally {
            // When the time of the suite is over, nothing goes on calling a server that is taken away.
            node.descendants().forEach(ProcessHandle::destroyForcibly);
            node.destroyForcibly();
        }
    }

    private static Stream<DynamicNode> grouped(List<Case> cases) {
        Map<String, List<DynamicNode>> groups = new LinkedHashMap<>();
        for (Case one : cases) {
            groups.computeIfAbsent(one.group(), _ -> new ArrayList<>()).add(dynamicTest(one.name(), () -> {
                one.skipped().ifPresent(why -> {
                    throw new TestAbortedException(why);
                });
                one.failure().ifPresent(why -> fail(why));
            }));
        }
        return groups.entrySet().stream().map(it -> dynamicContainer(it.getKey(), it.getValue()));
    }

    private static void printSkipped(List<Case> cases) {
        for (Case one : cases) {
            one.skipped()
                    .ifPresent(why -> System.out.println("skipped: " + one.group() + ": " + one.name() + ": " + why));
        }
    }
}
