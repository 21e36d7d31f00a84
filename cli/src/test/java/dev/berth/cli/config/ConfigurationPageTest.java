package dev.berth.cli.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationPageTest {
    private static final Path DOCS = Path.of("../docs/configuration.md");

    /** Run with {@code -Dberth.write.docs=true} to bring the page up to date. */
    @Test
    void thePageIsTheTable() throws IOException {
        if (Boolean.getBoolean("berth.write.docs")) {
            Files.writeString(DOCS, ConfigurationPage.text());
        }
        assertThat(Files.readString(DOCS)).isEqualTo(ConfigurationPage.text());
    }

    @Test
    void tellsOfEverySetting() {
        assertThat(Settings.ALL)
                .allSatisfy(it -> assertThat(ConfigurationPage.text())
                        .contains("| `" + it.name() + "` |", "`" + it.env() + "`", it.description()));
    }
}
