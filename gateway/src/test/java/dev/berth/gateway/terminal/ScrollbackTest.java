package dev.berth.gateway.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ScrollbackTest {
    @Test
    void keepsTheLastBytesWhateverTheyCameIn() {
        Random random = new Random(42);
        int most = 10_000;
        Scrollback scrollback = new Scrollback(most);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int i = 0; i < 2_000; i++) {
            byte[] bytes = new byte[random.nextInt(i % 100 == 0 ? 30_000 : 300)];
            random.nextBytes(bytes);
            scrollback.add(bytes, bytes.length);
            all.writeBytes(bytes);
            assertThat(scrollback.end()).isEqualTo(all.size());
            assertThat(scrollback.end() - scrollback.oldest()).isEqualTo(Math.min(most, all.size()));
            assertThat(read(scrollback))
                    .isEqualTo(Arrays.copyOfRange(all.toByteArray(), (int) scrollback.oldest(), all.size()));
        }
    }

    @Test
    void whatIsBeforeAGapIsNotShownAsIfItWereBeforeTheRest() {
        Scrollback scrollback = new Scrollback(100);
        scrollback.add(new byte[] {1, 2, 3}, 3);
        scrollback.gap(1_000);
        assertThat(scrollback.oldest()).isEqualTo(1_003);
        scrollback.add(new byte[] {4, 5}, 2);
        assertThat(read(scrollback)).containsExactly(4, 5);
    }

    private static byte[] read(Scrollback scrollback) {
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        byte[] buffer = new byte[777];
        for (long at = scrollback.oldest(); at < scrollback.end(); ) {
            int n = scrollback.read(at, buffer);
            read.write(buffer, 0, n);
            at += n;
        }
        return read.toByteArray();
    }
}
