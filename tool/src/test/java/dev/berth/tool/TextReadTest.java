package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.allocated;
import static dev.berth.tool.TestingWorkspace.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reading pages of text. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class TextReadTest {
    private static TestingWorkspace testing;
    private static Workspace workspace;

    @BeforeAll
    static void start() {
        testing = new TestingWorkspace();
        workspace = testing.workspace();
    }

    @AfterEach
    void clear() {
        testing.clear();
    }

    @AfterAll
    static void stop() throws IOException {
        testing.close();
    }

    private static TextPage read(String path, long offset, int limit) {
        return new TextRead(path, offset, limit).run(workspace);
    }

    private static String lines(int from, int to) {
        return IntStream.rangeClosed(from, to).mapToObj(i -> "line " + i + "\n").collect(Collectors.joining());
    }

    @Test
    void readsAPageAndTellsHowMuchThereIs() {
        testing.put("file", lines(1, 5000));

        TextPage page = TextRead.of("file").run(workspace);
        TextPage last = read("file", 4999, 10);

        assertThat(page.content()).isEqualTo(lines(1, 2000));
        assertThat(page.totalLines()).hasValue(5000);
        assertThat(page.startLine()).isEqualTo(1);
        assertThat(page.endLine()).isEqualTo(2000);
        assertThat(page.hasMore()).isTrue();
        assertThat(page.truncated()).isFalse();
        assertThat(last.content()).isEqualTo(lines(4999, 5000));
        assertThat(last.endLine()).isEqualTo(5000);
        assertThat(last.hasMore()).isFalse();
    }

    @Test
    void allPagesTogetherAreTheFile() {
        String text = "a\r\n\nb\n\r\nünï\n" + "x".repeat(1999) + "\nno newline";
        testing.put("file", text);

        StringBuilder all = new StringBuilder();
        TextPage page = read("file", 1, 2);
        for (; page.hasMore(); page = read("file", page.endLine() + 1, 2)) {
            all.append(page.content());
        }

        assertThat(all.append(page.content())).hasToString(text);
        assertThat(page.totalLines()).hasValue(7);
    }

    @Test
    void numbersLinesForAModelAndTellsHowToGoOn() {
        testing.put("file", "one\r\ntwo\n\nfour");

        assertThat(read("file", 1, 3).numbered())
                .isEqualTo("     1\tone\n     2\ttwo\n     3\t\n[lines 1 to 3 of 4; read on with offset 4]\n");
        assertThat(read("file", 4, 3).numbered()).isEqualTo("     4\tfour\n");
        assertThat(read("file", 9, 3).numbered()).contains("has 4 lines");
    }

    @Test
    void anEmptyFileHasNoLines() {
        testing.put("empty", "");
        testing.put("newline", "\n");

        TextPage empty = TextRead.of("empty").run(workspace);

        assertThat(empty.totalLines()).hasValue(0);
        assertThat(empty.endLine()).isZero();
        assertThat(empty.hasMore()).isFalse();
        assertThat(empty.numbered()).isEqualTo("[the file is empty]\n");
        assertThat(TextRead.of("newline").run(workspace).numbered()).isEqualTo("     1\t\n");
    }

    @Test
    void cutsALongLineAndSaysSo() {
        testing.put("file", "a\n" + "é".repeat(2001) + "\nb\n" + "𝄞".repeat(1001) + "\n");

        TextPage page = TextRead.of("file").run(workspace);

        assertThat(page.truncated()).isTrue();
        assertThat(page.content().split("\n"))
                .containsExactly(
                        "a",
                        "é".repeat(2000) + " [cut: the line has 4002 bytes]",
                        "b",
                        "𝄞".repeat(1000) + " [cut: the line has 4004 bytes]");
    }

    @Test
    void aPageThatIsTooLongEndsEarly() {
        testing.put("file", ("x".repeat(1500) + "\n").repeat(1000));

        TextPage page = TextRead.of("file").run(workspace);

        assertThat(page.truncated()).isTrue();
        assertThat(page.hasMore()).isTrue();
        assertThat(page.endLine()).isBetween(100L, 200L);
        assertThat(page.content()).hasSizeLessThanOrEqualTo(LinePager.PAGE_CHARS);
        assertThat(read("file", page.endLine() + 1, 1).content()).hasSize(1501);
    }

    @Test
    void decodesUtf16AndLeavesOutTheByteOrderMark() {
        testing.put("le", ("\uFEFF" + "grüße 𝄞\n".repeat(10_000)).getBytes(StandardCharsets.UTF_16LE));
        testing.put("be", "\uFEFFeins\nzwei\n".getBytes(StandardCharsets.UTF_16BE));
        testing.put("utf8", "\uFEFFeins\n");

        assertThat(read("le", 1, 1).content()).isEqualTo("grüße 𝄞\n");
        assertThat(read("le", 10_000, 5).content()).isEqualTo("grüße 𝄞\n");
        assertThat(read("le", 1, 1).totalLines()).hasValue(10_000);
        assertThat(read("be", 1, 5).content()).isEqualTo("eins\nzwei\n");
        assertThat(read("be", 1, 5).encoding()).isEqualTo("utf-16be");
        assertThat(read("utf8", 1, 5).content()).isEqualTo("eins\n");
    }

    @Test
    void toleratesSomeBytesThatAreNotUtf8ButNoBinary() {
        testing.put("latin1", "Viele Grüße aus Köln, wo dieser Satz steht\n".getBytes(StandardCharsets.ISO_8859_1));
        testing.put("nul", "text\0text");
        testing.sh("head -c 4000 /bin/ls > program; tr -d '\\000-\\177' < /dev/urandom | head -c 1000 > noise");

        assertThat(read("latin1", 1, 1).content())
                .isEqualTo("Viele Gr\uFFFD\uFFFDe aus K\uFFFDln, wo dieser Satz steht\n");
        for (String path : new String[] {"nul", "program", "noise"}) {
            assertThat(assertFails(ErrorCode.INVALID, () -> read(path, 1, 1))).hasMessageContaining("read_binary");
        }
    }

    @Test
    void tellsWhatToDoInstead() {
        testing.sh("mkdir -p src/deep; ln -s src/deep link; mkfifo pipe");
        testing.put("src/Main.java", "x");

        assertThat(assertFails(ErrorCode.NOT_FOUND, () -> read("src/main.jav", 1, 1)))
                .hasMessageContaining("did you mean src/Main.java?");
        assertThat(assertFails(ErrorCode.NOT_FOUND, () -> read("nothing/like/it", 1, 1)))
                .hasMessageContaining("use glob");
        for (String path : new String[] {".", "src", "link"}) {
            assertThat(assertFails(ErrorCode.INVALID, () -> read(path, 1, 1))).hasMessageContaining("use glob");
        }
        assertFails(ErrorCode.INVALID, () -> read("pipe", 1, 1));
        assertFails(ErrorCode.INVALID, () -> read("x", 0, 1));
        assertFails(ErrorCode.INVALID, () -> read("x", 1, 0));
    }

    @Test
    void linksThatLeaveTheWorkspaceAreRefused() {
        testing.sh(
                "ln -s /etc/passwd absolute; ln -s ../.profile up; ln -s / root; mkdir d; ln -s ../../.profile d/up");

        for (String path : new String[] {"absolute", "up", "root/etc/passwd", "d/up", "/etc/passwd", "../.profile"}) {
            assertFails(ErrorCode.DENIED, () -> read(path, 1, 1));
            assertFails(ErrorCode.DENIED, () -> BinaryRead.of(path).run(workspace));
        }
    }

    @Test
    void aLinkThatIsSwappedUnderTheReaderNeverLeadsOutside() throws Exception {
        testing.sh("mkdir d; echo inside > d/passwd; ln -s /etc out");
        try (var _ = testing.swapping("d", "out")) {
            int seen = 0;
            for (int i = 0; i < 2000 || seen == 0; i++) {
                try {
                    assertThat(read("d/passwd", 1, 1).content()).isEqualTo("inside\n");
                    seen++;
                } catch (dev.berth.sandbox.SandboxException e) {
                    assertThat(e.code()).isIn(ErrorCode.DENIED, ErrorCode.NOT_FOUND);
                }
            }
        }
    }

    @Test
    void readsAFileOfFiveGigabytesInConstantMemory() {
        testing.sh("seq 1 10000 > huge; truncate -s 5G huge; printf 'behind\\nthe end\\n' >> huge");

        long allocated = allocated(() -> {
            assertThat(read("huge", 2, 2).content()).isEqualTo("2\n3\n");
            assertThat(read("huge", 10_002, 5).content()).isEqualTo("the end\n");
            assertThat(read("huge", 10_002, 5).totalLines()).hasValue(10_002);
        });

        assertThat(allocated).isLessThan(16 << 20);
    }

    @Test
    void readsALineOfAHundredMegabytesInConstantMemory() {
        testing.sh("{ echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last; } > long");

        long allocated = allocated(() -> {
            TextPage page = read("long", 1, 10);
            assertThat(page.content())
                    .hasSizeLessThan(3000)
                    .startsWith("first\nxxx")
                    .endsWith("\nlast\n");
            assertThat(page.totalLines()).hasValue(3);
            assertThat(page.truncated()).isTrue();
        });

        assertThat(allocated).isLessThan(16 << 20);
    }

    @Test
    void aSparseFileOfExbibytesKeepsNobodyBusy() throws IOException {
        TextPage page = new TextRead("endless", 1, 2).page(new Endless(), Texts.Kind.UTF_8);

        assertThat(page.content()).isEqualTo("1\n2\n");
        assertThat(page.totalLines()).isEmpty();
        assertThat(page.hasMore()).isTrue();
        assertFails(ErrorCode.LIMIT, () -> new TextRead("endless", 20_000, 2).page(new Endless(), Texts.Kind.UTF_8));
    }

    /** A few lines, and then zeros for ever. */
    private static final class Endless extends InputStream {
        private final byte[] head = "1\n2\n3\n".getBytes(StandardCharsets.UTF_8);
        private boolean begun;

        @Override
        public int read() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) {
            Arrays.fill(bytes, offset, offset + length, (byte) 0);
            if (!begun) {
                System.arraycopy(head, 0, bytes, offset, head.length);
                begun = true;
            }
            return length;
        }
    }
}
