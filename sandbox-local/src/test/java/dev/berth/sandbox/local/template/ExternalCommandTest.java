package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ExternalCommandTest {
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    @Test
    void keepsTheLastLinesOfBothStreams() throws IOException {
        var ended = sh("seq 100; echo end >&2; exit 7").run(lines::add);

        assertThat(ended.status()).isEqualTo(7);
        assertThat(ended.lastLines()).hasSize(20).endsWith("100", "end");
        assertThat(lines).hasSize(101);
    }

    @Test
    void endsWhatTakesTooLongWithAllItStarted() throws IOException {
        long started = System.nanoTime();
        var ended = sh("sleep 100 & sleep 100")
                .confined()
                .within(Duration.ofMillis(300))
                .run(lines::add);

        assertThat(ended.timedOut()).isTrue();
        assertThat(ended.ok()).isFalse();
        assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(Duration.ofSeconds(60));
    }

    @Test
    void passesOnOnlyTheEnvironmentItIsGiven() throws IOException {
        sh("env | cut -d= -f1 | sort | tr '\\n' ' '").with(Map.of("GIVEN", "x")).run(lines::add);

        assertThat(lines).containsExactly("GIVEN HOME LANG PATH PWD");
    }

    @Test
    void cutsLinesThatNeverEnd() throws IOException {
        sh("head -c 1000000 /dev/zero | tr '\\0' x").run(lines::add);

        assertThat(lines).singleElement().satisfies(line -> assertThat(line).hasSize(2000));
    }

    private static ExternalCommand sh(String script) {
        return ExternalCommand.of(List.of("sh", "-c", script));
    }
}
