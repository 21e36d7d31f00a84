package dev.berth.gateway.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The protocol's own conformance suite, from npm. Needs root, crun, nodejs and npm. */
@Timeout(600)
class McpConformanceTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** What of the suite says something about the product itself. All other scenarios call things by the suite's names. */
    private static final Set<String> OF_THE_PRODUCT = Set.of(
            "server-initialize",
            "ping",
            "tools-list",
            "resources-list",
            "server-sse-multiple-streams",
            "dns-rebinding-protection");

    /** With the reason. A scenario that begins to pass has to leave this list. */
    private static final Map<String, String> NOT_MET = Map.of(
            "server-sse-polling",
            "streams cannot be resumed with Last-Event-ID, which the protocol leaves to the server");

    @TempDir
    Path directory;

    @Test
    void theTransportPassesTheWholeSuite() throws IOException {
        try (ReferenceServer server = new ReferenceServer()) {
            Map<String, String> results = suite(server.url(), ReferenceServer.KEY);
            print("the transport, with what the suite wants to find", results);
            assertThat(results).hasSizeGreaterThanOrEqualTo(30);
            results.forEach((scenario, result) -> {
                if (NOT_MET.containsKey(scenario)) {
                    assertThat(result).as(scenario + " is met now").isNotEqualTo("passed");
                } else {
                    assertThat(result).as(scenario).isEqualTo("passed");
                }
            });
        }
    }

    @Test
    void theProductPassesWhatIsAboutIt() throws IOException {
        try (TestingBerth berth = new TestingBerth()) {
            Map<String, String> results = suite(berth.url() + "/mcp", berth.tenant("acme"));
            assertThat(results).containsKeys(OF_THE_PRODUCT.toArray(String[]::new));
            results.replaceAll((scenario, result) -> OF_THE_PRODUCT.contains(scenario)
                    ? result
                    : "does not apply: "
                            + NOT_MET.getOrDefault(scenario, "wants tools, resources or prompts of the suite"));
            print("the product", results);
            OF_THE_PRODUCT.forEach(
                    scenario -> assertThat(results.get(scenario)).as(scenario).isEqualTo("passed"));
        }
    }

    private static void print(String what, Map<String, String> results) {
        System.out.println("MCP conformance of " + what + ":");
        results.forEach((scenario, result) -> System.out.printf("  %-32s %s%n", scenario, result));
    }

    /** By scenario: passed, or what was wrong. */
    private Map<String, String> suite(String url, String key) throws IOException {
        NpmClients.Run run = new NpmClients(directory)
                .node(
                        Map.of("BERTH_KEY", key),
                        "--import",
                        "./authorize.mjs",
                        "node_modules/@modelcontextprotocol/conformance/dist/index.js",
                        "server",
                        "--url",
                        url,
                        "--suite",
                        "all",
                        "--output-dir",
                        "results");
        Map<String, String> results = new TreeMap<>();
        try (Stream<Path> scenarios = Files.list(directory.resolve("results"))) {
            for (Path scenario : scenarios.toList()) {
                String name =
                        scenario.getFileName().toString().replaceAll("^server-(.*)-\\d{4}-\\d\\d-\\d\\dT.*$", "$1");
                results.put(name, result(JSON.readTree(Files.readString(scenario.resolve("checks.json")))));
            }
        }
        assertThat(results).as(run.out() + run.err()).isNotEmpty();
        return results;
    }

    private static String result(JsonNode checks) {
        List<String> wrong = checks.valueStream()
                .filter(check -> Set.of("FAILURE", "WARNING")
                        .contains(check.path("status").asString()))
                .map(check ->
                        check.path("status").asString() + " " + check.path("id").asString() + ": "
                                + check.path("errorMessage")
                                        .asString("")
                                        .lines()
                                        .findFirst()
                                        .orElse(""))
                .toList();
        return wrong.isEmpty() ? "passed" : String.join("; ", wrong);
    }
}
