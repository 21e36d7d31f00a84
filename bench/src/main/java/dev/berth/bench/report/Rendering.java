package dev.berth.bench.report;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** The forms in which a report is given out. */
public enum Rendering {
    /** For people at a terminal. */
    TABLE,
    /** For docs/benchmarks.md. */
    MARKDOWN;

    private static final List<String> HEADINGS =
            List.of("what", "measured", "compared with", "", "ratio", "must", "verdict");

    public void print(Report report, PrintWriter out) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(HEADINGS);
        report.rows().forEach(row -> lines.add(cells(row)));
        out.println(report.machine().text());
        out.println();
        if (this == MARKDOWN) {
            printMarkdown(lines, out);
        } else {
            printAligned(lines, out);
        }
        if (!report.failures().isEmpty()) {
            out.println();
            report.failures().forEach(f -> out.println("Could not measure " + f.measurement() + ": " + f.why()));
        }
    }

    private static List<String> cells(Row row) {
        return List.of(
                row.what(),
                row.measured().toString(),
                row.against(),
                row.compared().map(Quantity::toString).orElse(""),
                row.ratio().map(ratio -> Quantity.digits(ratio) + " x").orElse(""),
                row.must().map(Must::text).orElse(""),
                row.verdict().text());
    }

    private static void printMarkdown(List<List<String>> lines, PrintWriter out) {
        for (int i = 0; i < lines.size(); i++) {
            out.println("| " + String.join(" | ", lines.get(i)).replace("<", "&lt;") + " |");
            if (i == 0) {
                out.println("|---|---:|---|---:|---:|---|---|");
            }
        }
    }

    private static void printAligned(List<List<String>> lines, PrintWriter out) {
        int[] widths = new int[HEADINGS.size()];
        for (List<String> line : lines) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line.get(i).length());
            }
        }
        for (List<String> line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                String cell = line.get(i);
                boolean number = i == 1 || i == 3 || i == 4;
                String gap = " ".repeat(widths[i] - cell.length());
                text.append(number ? gap + cell : cell + gap).append("  ");
            }
            out.println(text.toString().stripTrailing());
        }
    }

    /** For programs: everything, with full precision. */
    public static String json(Report report) {
        Map<String, Object> root = new TreeMap<>();
        root.put("machine", report.machine());
        root.put("rows", report.rows().stream().map(Rendering::object).toList());
        root.put("failures", report.failures());
        return JsonMapper.builder()
                .enable(SerializationFeature.INDENT_OUTPUT)
                .build()
                .writeValueAsString(root);
    }

    private static Map<String, Object> object(Row row) {
        Map<String, Object> object = new java.util.LinkedHashMap<>();
        object.put("what", row.what());
        object.put("unit", row.measured().unit().symbol());
        object.put("measured", row.measured().value());
        row.compared().ifPresent(compared -> {
            object.put("against", row.against());
            object.put("compared", compared.value());
        });
        row.ratio().ifPresent(ratio -> object.put("ratio", ratio));
        row.must().ifPresent(must -> {
            object.put("must", must.text());
            object.put("met", must.isMet(row));
        });
        return object;
    }
}
