package dev.berth.agent.line;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LineReaderTest {
    private static final int KEPT = 64 << 10;

    /** Gives out as many bytes at a time as it likes, and remembers where it was marked. */
    private static final class Pieces extends FilterInputStream {
        private final Random random;
        private final int largest;
        private long read;
        private long marked;

        Pieces(byte[] bytes, int largest) {
            super(new ByteArrayInputStream(bytes));
            this.largest = largest;
            this.random = new Random(largest);
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int n = super.read(target, offset, Math.min(length, 1 + random.nextInt(largest)));
            read += Math.max(n, 0);
            assertThat(read - marked).as("read since the mark").isLessThanOrEqualTo(KEPT);
            return n;
        }

        @Override
        public synchronized void mark(int limit) {
            assertThat(limit).isLessThanOrEqualTo(KEPT);
            super.mark(limit);
            marked = read;
        }

        @Override
        public synchronized void reset() throws IOException {
            super.reset();
            read = marked;
        }

        @Override
        public long skip(long count) throws IOException {
            long n = super.skip(count);
            read += n;
            return n;
        }
    }

    private static List<String> all(InputStream in, int longest) throws IOException {
        LineReader reader = new LineReader(in, 0, longest);
        List<String> lines = new ArrayList<>();
        for (Optional<byte[]> line = reader.next(); line.isPresent(); line = reader.next()) {
            lines.add(new String(line.get(), UTF_8));
            reader.done();
        }
        return lines;
    }

    @Test
    void aLineMayBeSplitAnywhere() throws IOException {
        byte[] bytes = "one\n\nthree ü\u2028 same line\r\nfour\n".getBytes(UTF_8);
        for (int largest = 1; largest <= bytes.length; largest++) {
            assertThat(all(new Pieces(bytes, largest), 1000))
                    .containsExactly("one", "", "three ü\u2028 same line\r", "four");
        }
    }

    @Test
    void whatHasNoEndIsNoLine() throws IOException {
        assertThat(all(new Pieces("whole\nhalf".getBytes(UTF_8), 4), 1000)).containsExactly("whole");
    }

    @Test
    void aLineOf34MegabytesIsReadWhole() throws IOException {
        byte[] bytes = new byte[34 << 20];
        Arrays.fill(bytes, (byte) 'x');
        bytes[bytes.length - 1] = '\n';
        LineReader reader = new LineReader(new Pieces(bytes, 300_000), 100, 64 << 20);

        assertThat(reader.next().orElseThrow()).hasSize(bytes.length - 1);
        assertThat(reader.position()).isEqualTo(100 + bytes.length);
    }

    @Test
    void aLineThatIsTooLongIsPassedOver() throws IOException {
        String text = "before\n" + "x".repeat(200_000) + "\nafter\n" + "y".repeat(101) + "\n" + "z".repeat(100) + "\n";

        assertThat(all(new Pieces(text.getBytes(UTF_8), 50_000), 100))
                .containsExactly("before", "after", "z".repeat(100));
    }

    @Test
    void thePositionIsBehindTheLine() throws IOException {
        LineReader reader = new LineReader(new Pieces("ab\nüx\n".getBytes(UTF_8), 2), 40, 1000);

        reader.next();
        assertThat(reader.position()).isEqualTo(43);
        reader.next();
        assertThat(reader.position()).isEqualTo(47);
    }

    /** Whoever is killed at any line, and reads on behind the last one it was done with, finds that still kept. */
    @Test
    void nothingIsGivenUpThatWasNotWorkedOff() throws IOException {
        StringBuilder text = new StringBuilder();
        Random random = new Random(7);
        for (int i = 0; text.length() < 2_000_000; i++) {
            text.append(i).append("x".repeat(random.nextInt(3000))).append('\n');
        }
        Pieces in = new Pieces(text.toString().getBytes(UTF_8), 40_000);
        LineReader reader = new LineReader(in, 0, 10_000);
        long workedOff = 0;
        int lines = 0;
        for (Optional<byte[]> line = reader.next(); line.isPresent(); line = reader.next()) {
            assertThat(in.marked).isLessThanOrEqualTo(workedOff);
            assertThat(new String(line.get(), UTF_8)).startsWith(Integer.toString(lines++));
            workedOff = reader.position();
            reader.done();
            assertThat(in.marked).isLessThanOrEqualTo(workedOff);
        }
        assertThat(workedOff).isEqualTo(text.length());
    }
}
