package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.FileInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FileModeTest {
    @ParameterizedTest
    @CsvSource({
        "FILE, 0644, -rw-r--r--",
        "FILE, 0000, ----------",
        "FILE, 0777, -rwxrwxrwx",
        "DIRECTORY, 0755, drwxr-xr-x",
        "LINK, 0777, Lrwxrwxrwx",
        "FILE, 04755, urwxr-xr-x",
        "FILE, 02755, grwxr-xr-x",
        "FILE, 06755, ugrwxr-xr-x",
        "DIRECTORY, 01777, dtrwxrwxrwx",
        "OTHER, 0666, ?rw-rw-rw-"
    })
    void isWrittenAsGoDoes(FileInfo.Type type, String mode, String text) {
        assertThat(FileMode.of(type, Integer.parseInt(mode, 8))).isEqualTo(text);
    }
}
