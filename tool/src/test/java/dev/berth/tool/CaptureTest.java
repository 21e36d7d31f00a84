package dev.berth.tool;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CaptureTest {
    private final ByteArrayOutputStream spooled = new ByteArrayOutputStream();

    private Capture capture(int limit) {
        return new Capture(limit, spooled::write);
    }

    private static void write(Capture capture, String text) {
        byte[] bytes = text.getBytes(UTF_8);
        capture.write(bytes, 0, bytes.length);
    }

    @Test
    void keepsAllThatFits() {
        Capture capture = capture(10);
        write(capture, "abcde");
        write(capture, "fghij");
        assertThat(capture.text("")).isEqualTo("abcdefghij");
        assertThat(capture.cut()).isFalse();
        assertThat(capture.exact()).isTrue();
        assertThat(spooled.size()).isZero();
    }

    @Test
    void keepsTheBeginningAndTheEndOfMore() {
        Capture capture = capture(10);
        write(capture, "abcdefghij");
        write(capture, "k");
        assertThat(capture.text("so")).isEqualTo("abcde\n[1 bytes are left out here; so]\nghijk");
        assertThat(spooled.toString(UTF_8)).isEqualTo("abcdefghijk");
    }

    @Test
    void cutsBetweenCharactersOnly() {
        for (String character : new String[] {"é", "€", "😀"}) {
            for (int limit = 8; limit < 24; limit++) {
                Capture capture = capture(limit);
                write(capture, character.repeat(50));
                assertThat(capture.text("").replace(character, ""))
                        .as("%s in %d", character, limit)
                        .matches("\n\\[\\d+ bytes are left out here; ]\n");
            }
        }
    }

    @Test
    void countsTheBytesThatAreMissing() {
        Capture capture = capture(9);
        write(capture, "€".repeat(10)); // 3 of 4 bytes, and 3 of 5
        assertThat(capture.text("x")).isEqualTo("€\n[24 bytes are left out here; x]\n€");
    }

    @Test
    void isTheSameInWhateverPiecesItComes() {
        Random random = new Random(7);
        for (int round = 0; round < 300; round++) {
            byte[] all = new byte[random.nextInt(200)];
            for (int i = 0; i < all.length; i++) {
                all[i] = (byte) ('a' + random.nextInt(26));
            }
            ByteArrayOutputStream kept = new ByteArrayOutputStream();
            Capture whole = new Capture(64, (_, _, _) -> {});
            Capture pieces = new Capture(64, kept::write);
            whole.write(all, 0, all.length);
            for (int at = 0; at < all.length; ) {
                int n = Math.min(1 + random.nextInt(50), all.length - at);
                pieces.write(all, at, n);
                at += n;
            }
            assertThat(pieces.text("")).isEqualTo(whole.text(""));
            assertThat(kept.toByteArray()).isEqualTo(all.length > 64 ? all : new byte[0]);
        }
    }

    @Test
    void saysWhenTextIsNotEveryByte() {
        Capture capture = capture(10);
        capture.write(new byte[] {(byte) 0xff, 'a'}, 0, 2);
        assertThat(capture.exact()).isFalse();
        assertThat(capture.text("")).isEqualTo("\ufffda");
    }
}
