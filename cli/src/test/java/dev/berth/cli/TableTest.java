package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class TableTest {
    private static String print(Table table, int width) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        table.print(out, width);
        out.flush();
        return text.toString();
    }

    @Test
    void theWidestColumnGivesWayToTheTerminal() {
        Table table = new Table("ID", "COMMAND");
        table.add("job-1", "a command that goes on for much longer than the window is wide");
        assertThat(print(table, 30).lines())
                .allMatch(line -> line.length() <= 30)
                .anyMatch(line -> line.endsWith("…"));
        assertThat(print(table, Integer.MAX_VALUE)).contains("is wide");
    }

    @Test
    void aWindowWithoutRoomStillShowsSomething() {
        Table table = new Table("SESSION", "STATE");
        table.add("slack:C123:1712.0001", "active");
        assertThat(print(table, 3)).contains("slack:C…");
    }
}
