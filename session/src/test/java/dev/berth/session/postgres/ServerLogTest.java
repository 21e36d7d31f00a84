package dev.berth.session.postgres;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerLogTest {
    @TempDir
    Path temporary;

    @Test
    void isEmptiedUnderItsWriterWhenItIsLarge() throws Exception {
        Path file = temporary.resolve("log");
        ServerLog log = ServerLog.open(file);
        try (var writer = Files.newOutputStream(file, StandardOpenOption.APPEND)) {
            writer.write(new byte[(int) ServerLog.LARGEST]);
            log.bound();
            assertThat(file).hasSize(ServerLog.LARGEST);
            writer.write('\n');
            log.bound();
            writer.write("next\n".getBytes(UTF_8));
        }
        assertThat(file).hasContent("next\n");
        assertThat(temporary.resolve("log.1")).hasSize(ServerLog.LARGEST + 1);
        assertThat(Files.getPosixFilePermissions(temporary.resolve("log.1")))
                .isEqualTo(Files.getPosixFilePermissions(file));
    }

    @Test
    void tellsTheLastLinesAfterAPlace() throws Exception {
        Path file = temporary.resolve("log");
        ServerLog log = ServerLog.open(file);
        Files.writeString(file, "before\n");
        long mark = log.end();
        assertThat(log.tail(mark)).isEmpty();
        Files.writeString(file, "one\n\n" + "x".repeat(10_000) + "\ntwo\nthree\n", StandardOpenOption.APPEND);
        assertThat(log.tail(mark)).endsWith("x\ntwo\nthree").doesNotContain("before", "one");
    }
}
