package dev.berth.session.artifact;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SafeNameTest {
    @ParameterizedTest
    @ValueSource(strings = {"report.pdf", "Größe 2026 (final).xlsx", "日本語.csv", "a-b_c.tar.gz", "Makefile"})
    void aSafeNameStaysWhatItIs(String name) {
        assertThat(SafeName.of(name)).isEqualTo(name);
    }

    @Test
    void nothingOfAPathIsLeft() {
        assertThat(SafeName.of("../../etc/passwd")).isEqualTo("passwd");
        assertThat(SafeName.of("C:\\Users\\me\\x.txt")).isEqualTo("x.txt");
        assertThat(SafeName.of("a/..")).isEqualTo("file");
        assertThat(SafeName.of("/")).isEqualTo("file");
        assertThat(SafeName.of("")).isEqualTo("file");
        assertThat(SafeName.of(" . ")).isEqualTo("file");
    }

    @Test
    void whatCannotBeSeenIsLeftOut() {
        assertThat(SafeName.of("a\u0000b\nc\u001b[31m.txt")).isEqualTo("abc[31m.txt");
        assertThat(SafeName.of("invoice\u202Efdp.exe")).isEqualTo("invoicefdp.exe");
        assertThat(SafeName.of("a\u200B\u2066b\uFEFF.txt")).isEqualTo("ab.txt");
        assertThat(SafeName.of("lone\uD800.txt")).isEqualTo("lone.txt");
    }

    @Test
    void itIsNeitherHiddenNorAnOptionNorADevice() {
        assertThat(SafeName.of(".bashrc")).isEqualTo("bashrc");
        assertThat(SafeName.of("--rf")).isEqualTo("rf");
        assertThat(SafeName.of("CON")).isEqualTo("_CON");
        assertThat(SafeName.of("nul.txt")).isEqualTo("_nul.txt");
        assertThat(SafeName.of("com1.log")).isEqualTo("_com1.log");
        assertThat(SafeName.of("a:b*c?.txt")).isEqualTo("a_b_c_.txt");
        assertThat(SafeName.of("trailing. ")).isEqualTo("trailing");
    }

    @Test
    void aLongNameIsCutAndKeepsItsExtension() {
        String cut = SafeName.of("ü".repeat(5000) + ".csv");
        assertThat(cut).endsWith("ü.csv");
        assertThat(SafeName.numbered(cut, 10_000).getBytes(StandardCharsets.UTF_8))
                .hasSizeLessThanOrEqualTo(255);
    }

    @Test
    void aNumberGoesBeforeTheExtension() {
        assertThat(SafeName.numbered("a.csv", 2)).isEqualTo("a (2).csv");
        assertThat(SafeName.numbered("Makefile", 3)).isEqualTo("Makefile (3)");
    }

    @Test
    void whateverComesIsOneNameThatIsSafeToUse() {
        Random random = new Random(5);
        for (int i = 0; i < 20_000; i++) {
            StringBuilder given = new StringBuilder();
            for (int n = random.nextInt(300); n > 0; n--) {
                given.append((char) (random.nextInt(4) == 0 ? random.nextInt(0x10000) : random.nextInt(0x80)));
            }
            String name = SafeName.of(given.toString());
            assertThat(name)
                    .isNotEmpty()
                    .doesNotContain("/", "\\", "\0")
                    .doesNotStartWith(".")
                    .doesNotStartWith("-");
            assertThat(name.getBytes(StandardCharsets.UTF_8)).hasSizeLessThanOrEqualTo(200);
            assertThat(SafeName.of(name)).isEqualTo(name);
        }
    }
}
