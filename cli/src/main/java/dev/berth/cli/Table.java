package dev.berth.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Lines of cells, printed so that columns stand under each other. */
final class Table {
    private final List<List<String>> lines = new ArrayList<>();

    Table(String... header) {
        lines.add(List.of(header));
    }

    void add(String... cells) {
        lines.add(List.of(cells));
    }

    void print(PrintWriter out) {
        int columns = lines.getFirst().size();
        int[] widths = new int[columns];
        for (List<String> line : lines) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], width(line.get(i)));
            }
        }
        for (List<String> line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                text.append(line.get(i)).repeat(' ', widths[i] - width(line.get(i)) + 2);
            }
            out.println(text.toString().stripTrailing());
        }
    }

    /** On the screen, where colours take no room. */
    private static int width(String cell) {
        return cell.indexOf('\033') < 0
                ? cell.length()
                : cell.replaceAll("\033\\[[0-9]+m", "").length();
    }
}
