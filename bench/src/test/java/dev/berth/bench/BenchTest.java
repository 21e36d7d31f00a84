package dev.berth.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** With the real provider and the real rivals, so it needs root. */
class BenchTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @TempDir
    private Path directory;

    @Test
    void measuresEverythingAndLeavesNothing() throws IOException {
        Path json = directory.resolve("report.json");
        int code = run(options().withSize(BenchOptions.Size.QUICK).withJson(json));
        assertThat(code).as(err.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("create + first command, cold")
                .contains("one command, live sandbox")
                .contains("commands per second over HTTP")
                .contains("write 64 MB")
                .contains("upload 64 MB over HTTP")
                .contains("download 64 MB over HTTP")
                .contains("upload 64 MB through a sandbox's network, TLS")
                .contains("small request out of a sandbox, kept connection")
                .contains("HTTPS requests per second with a secret put in");
        JsonNode report = JsonMapper.builder().build().readTree(Files.readAllBytes(json));
        assertThat(report.get("rows").size()).isGreaterThan(15);
        assertThat(Mounts.all()).noneMatch(mount -> mount.target().toString().startsWith("/var/tmp/berth-bench"));
    }

    @Test
    void refusesAMeasurementThatThereIsNot() {
        assertThatThrownBy(() -> run(options().withOnly(Set.of("warp"))))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("warp")
                .hasMessageContaining("throughput");
    }

    @Test
    void measuresAgentsFromAMessageToTheFirstText() {
        Set<String> agents = Set.copyOf(Bench.agentNames());
        int code = run(options().withSize(BenchOptions.Size.QUICK).withOnly(agents));
        assertThat(code).as(err.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("template agent:")
                .contains("message to an agent, new session, first status")
                .contains("message to an agent, session up, first text")
                .contains("message to an agent, session paused, first text")
                .contains("memory of a session with an idle agent");
    }

    @Test
    void saysHowToBuildTheTemplateThatAgentsNeed() {
        assertThatThrownBy(() -> run(BenchOptions.of(directory).withOnly(Set.of("agent-warm"))))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("berth template build agent");
    }

    private static BenchOptions options() {
        return BenchOptions.of(Path.of(
                Optional.ofNullable(System.getenv("BERTH_TEST_TEMPLATES")).orElse("/var/tmp/berth-test-templates")));
    }

    private int run(BenchOptions options) {
        return Bench.run(
                options,
                new PrintWriter(out, true, StandardCharsets.UTF_8),
                new PrintWriter(err, true, StandardCharsets.UTF_8));
    }
}
