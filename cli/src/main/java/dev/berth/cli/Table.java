package dev.berth.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Lines of cells, printed so that columns stand under each other. */
final class Table {
    private static final int NARROWEST = 8;

    private final List<List<String>> lines = new ArrayList<>();

    Table(String... header) {
        lines.add(List.of(header));
    }

    void add(String... cells) {
        lines.add(List.of(cells));
    }

    void print(PrintWriter out) {
        print(out, Integer.MAX_VALUE);
    }

    /** So that no line is wider than this, as far as its columns can be made narrower. */
    void print(PrintWriter out, int width) {
        int columns = lines.getFirst().size();
        int[] widths = new int[columns];
        for (List<String> line : lines) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], width(line.get(i)));
            }
        }
        narrow(widths, width);
        for (List<String> line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String cell = cut(line.get(i), widths[i]);
                text.append(cell).repeat(' ', widths[i] - width(cell) + 2);
            }
            out.println(text.toString().stripTrailing());
        }
    }

    /** Takes from the widest column, one by one, until all fit. */
    private static void narrow(int[] widths, int most) {
        while (Arrays.stream(widths).sum() + 2L * (widths.length - 1) > most) {
            int widest = 0;
            for (int i = 1; i < widths.length; i++) {
                widest = widths[i] > widths[widest] ? i : widest;
            }
            if (widths[widest] <= NARROWEST) {
                return;
            }
            widths[widest]--;
        }
    }

    private static String cut(String cell, int width) {
        return width(cell) <= width ? cell : cell.substring(0, Math.min(cell.length(), width) - 1) + "…";
    }

    /** On the screen, where colours take no room. */
    private static int width(String cell) {
        return cell.indexOf('\033') < 0
                ? cell.length()
                : cell.replaceAll("\033\\[[0-9]+m", "").length();
    }
}
