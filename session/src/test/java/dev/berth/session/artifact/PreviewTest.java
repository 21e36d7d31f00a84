package dev.berth.session.artifact;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class PreviewTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void aShortTextIsShownAsItIs() {
        assertThat(Preview.of("text/csv", bytes("a,b\n1,ü\n"))).contains("a,b\n1,ü\n");
    }

    @Test
    void aLongTextIsCutAfterALine() {
        String preview =
                Preview.of("text/plain", bytes("0123456789\n".repeat(1000))).orElseThrow();
        assertThat(preview).hasSize(186 * 11).endsWith("9\n");
    }

    @Test
    void aLongLineIsCutBetweenCharacters() {
        String preview = Preview.of("text/plain", bytes("x" + "ü".repeat(2000))).orElseThrow();
        assertThat(preview).isEqualTo("x" + "ü".repeat(1023));
    }

    @Test
    void whatIsNoTextHasNone() {
        assertThat(Preview.of("image/png", bytes("text"))).isEmpty();
        assertThat(Preview.of("text/plain", new byte[] {'a', (byte) 0xff, 'b'})).isEmpty();
        assertThat(Preview.of("text/plain", bytes("a\0b"))).isEmpty();
        assertThat(Preview.of("text/plain", bytes(""))).isEmpty();
    }

    @Test
    void nobodyIsMisledByControlCharacters() {
        assertThat(Preview.of("text/plain", bytes("a\u001b]0;x\u0007\u202eb\tc")))
                .contains("a\ufffd]0;x\ufffd\ufffdb\tc");
    }
}
