package dev.berth.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class RenderingTest {
    private final Report report = new Report(
            new MachineFacts(
                    LocalDate.of(2026, 1, 2), 2, "Testium", 24, "6.18", 0.5, "base:1", List.of("Java 25", "crun 1.8")),
            List.of(
                    Row.compare("create", Quantity.millis(12.3), "crun run", Quantity.millis(8.2))
                            .must(new Must.AtMostTimes(2)),
                    Row.of("memory", Quantity.megabytes(4)).must(new Must.AtMost(Quantity.megabytes(3)))),
            List.of(new Report.Failure("files", "the disk is full")));

    @Test
    void theTableIsAlignedAndNamesTheMachine() {
        assertThat(print(Rendering.TABLE).lines())
                .containsExactly(
                        report.machine().text(),
                        "",
                        "what    measured  compared with            ratio  must     verdict",
                        "create   12.3 ms  crun run       8.20 ms  1.50 x  <= 2 x   met",
                        "memory   4.00 MB                                  <= 3 MB  NOT MET",
                        "",
                        "Could not measure files: the disk is full");
        assertThat(report.machine().text()).contains("2 cores", "Testium", "24.0 GB", "Linux 6.18", "crun 1.8");
    }

    @Test
    void markdownIsATableForTheDocs() {
        assertThat(print(Rendering.MARKDOWN))
                .contains(
                        "| what | measured | compared with |  | ratio | must | verdict |\n|---|---:|---|---:|---:|---|---|\n")
                .contains("| create | 12.3 ms | crun run | 8.20 ms | 1.50 x | &lt;= 2 x | met |\n");
    }

    @Test
    void jsonHasTheNumbersAsTheyAre() {
        JsonNode json = JsonMapper.builder().build().readTree(Rendering.json(report));
        JsonNode create = json.get("rows").get(0);
        assertThat(create.get("measured").asDouble()).isEqualTo(12.3);
        assertThat(create.get("unit").asString()).isEqualTo("ms");
        assertThat(create.get("met").asBoolean()).isTrue();
        assertThat(json.get("rows").get(1).get("met").asBoolean()).isFalse();
        assertThat(json.get("machine").get("date").asString()).isEqualTo("2026-01-02");
        assertThat(json.get("failures").get(0).get("measurement").asString()).isEqualTo("files");
    }

    private String print(Rendering rendering) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        rendering.print(report, new PrintWriter(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
