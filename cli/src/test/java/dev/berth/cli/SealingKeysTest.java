package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SealingKeysTest {
    private static final String A = "aa".repeat(32);
    private static final String B = "bb".repeat(32);
    private static final String C = "cc".repeat(32);

    @TempDir
    Path directory;

    private KeyFiles files;

    @BeforeEach
    void open() {
        files = KeyFiles.open(directory);
    }

    private static List<String> hex(List<byte[]> keys) {
        return keys.stream().map(HexFormat.of()::formatHex).toList();
    }

    @Test
    void oneIsMadeAtTheFirstStartAndIsThereAtTheNext() throws IOException {
        List<String> first = hex(SealingKeys.kept(files).read());
        assertThat(first).hasSize(1);
        assertThat(hex(SealingKeys.kept(files).read())).isEqualTo(first);
        assertThat(Files.getPosixFilePermissions(directory.resolve("sealing"))).hasSize(2);
    }

    @Test
    void thoseThatAreGivenGoBeforeThoseThatAreKept() throws IOException {
        files.write(KeyFiles.SEALING, A);
        Path file = Files.writeString(directory.resolve("mine"), B + "\n" + A + "\n");
        assertThat(hex(new SealingKeys(files, Optional.of(C + ", " + B), Optional.of(file)).read()))
                .containsExactly(C, B, A);
        assertThat(hex(SealingKeys.kept(files).read())).containsExactly(A);
    }

    @Test
    void noneIsMadeWhereOneIsGiven() {
        assertThat(hex(new SealingKeys(files, Optional.of(A), Optional.empty()).read()))
                .containsExactly(A);
        assertThat(files.read(KeyFiles.SEALING)).isEmpty();
    }

    @Test
    void aNewOneComesInFrontAndTheOlderGoLater() {
        files.write(KeyFiles.SEALING, A);
        SealingKeys keys = SealingKeys.kept(files);
        keys.add();
        List<String> both = hex(keys.read());
        assertThat(both).hasSize(2).endsWith(A);
        keys.dropOlder();
        assertThat(hex(keys.read())).containsExactly(both.getFirst());
    }

    @Test
    void whatIsNoKeyIsRefusedAndNotReplaced() throws IOException {
        Files.writeString(directory.resolve("sealing"), A + "\nspoiled");
        assertThatThrownBy(() -> SealingKeys.kept(files).read())
                .hasMessageContaining("put back what was in it")
                .hasMessageNotContaining("spoiled");
        assertThat(Files.readString(directory.resolve("sealing"))).contains("spoiled");
        assertThatThrownBy(
                        () -> new SealingKeys(files, Optional.empty(), Optional.of(directory.resolve("none"))).read())
                .hasMessageContaining("could not read");
    }

    @Test
    void withoutAKeyThatIsKeptThereIsNothingToRotate() {
        assertThatThrownBy(() -> SealingKeys.kept(files).add()).hasMessageContaining("from elsewhere");
        assertThat(files.read(KeyFiles.SEALING)).isEmpty();
    }
}
