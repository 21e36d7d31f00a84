package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AptSourcesTest {
    @TempDir
    Path apt;

    private Path parts;

    @BeforeEach
    void makeParts() throws IOException {
        parts = Files.createDirectory(apt.resolve("sources.list.d"));
    }

    @Test
    void takesTheMirrorsOfOneLineEntries() throws IOException {
        Files.writeString(apt.resolve("sources.list"), """
                # deb http://commented/debian bookworm main
                deb [arch=amd64 signed-by=/x] https://mirror.example/pub/debian/ bookworm main
                deb-src http://sources.example/debian bookworm main
                deb http://mirror.example/debian-security bookworm-security main
                """);

        assertThat(AptSources.read(apt))
                .isEqualTo(
                        new AptSources("https://mirror.example/pub/debian", "http://mirror.example/debian-security"));
    }

    @Test
    void takesTheMirrorsOfStanzasAndPassesOtherArchivesOver() throws IOException {
        Files.writeString(parts.resolve("a.sources"), "Types: deb\nURIs: https://deb.nodesource.com/node_20.x\n");
        Files.writeString(
                parts.resolve("b.sources"), "Types: deb\nURIs: http://near.example/debian\nSuites: bookworm\n");

        assertThat(AptSources.read(apt).main()).isEqualTo("http://near.example/debian");
        assertThat(AptSources.read(apt).security()).isEqualTo(AptSources.PUBLIC.security());
    }

    @Test
    void neverTakesAnAddressWithAPassword() throws IOException {
        Files.writeString(parts.resolve("a.list"), "deb https://me:secret@mirror.example/debian bookworm main\n");

        assertThat(AptSources.read(apt)).isEqualTo(AptSources.PUBLIC);
    }

    @Test
    void asksForUpdatesAndSecurityWhereThereAreAny() {
        assertThat(AptSources.PUBLIC.lines("bookworm"))
                .hasSize(3)
                .contains("deb http://deb.debian.org/debian-security bookworm-security main");
        assertThat(AptSources.PUBLIC.lines("sid")).containsExactly("deb http://deb.debian.org/debian sid main");
    }
}
