package dev.berth.tool;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;

final class FrameScannerTest {
    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    private FrameScanner scan(boolean begun, String stream, int piece) {
        FrameScanner scanner = new FrameScanner("ab12", begun, true, printed::write);
        byte[] bytes = stream.getBytes(UTF_8);
        for (int at = 0; at < bytes.length; at += piece) {
            scanner.write(bytes, at, Math.min(piece, bytes.length - at));
        }
        scanner.flush();
        return scanner;
    }

    @Test
    void findsACallInWhateverPiecesItComes() {
        String stream = "late\0ab12<one\0\0two\0ab1\0ab1two\0ab12<\0ab12>{said}\n";
        for (int piece = 1; piece <= stream.length(); piece++) {
            printed.reset();
            FrameScanner scanner = scan(false, stream, piece);
            assertThat(printed.toString(UTF_8)).as("pieces of %d", piece).isEqualTo("one\0\0two\0ab1\0ab1two\0ab12<");
            assertThat(scanner.said()).contains("{said}");
            assertThat(scanner.ended()).isTrue();
        }
    }

    @Test
    void passesOnWhatOnlyBeganLikeAMark() {
        FrameScanner scanner = scan(true, "one\0ab1", 3);
        assertThat(printed.toString(UTF_8)).isEqualTo("one\0ab1");
        assertThat(scanner.ended()).isFalse();
        assertThat(scanner.said()).isEmpty();
    }

    @Test
    void passesOnWhatComesAfterTheEndOfAProgram() {
        scan(true, "one\0ab12>{}\ntwo", 5);
        assertThat(printed.toString(UTF_8)).isEqualTo("onetwo");
    }
}
