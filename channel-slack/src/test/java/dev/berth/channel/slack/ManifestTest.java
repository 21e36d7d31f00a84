package dev.berth.channel.slack;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class ManifestTest {
    @Test
    void theManifestAsksForTheScopesThatAnInstallationAsksFor() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("../docs/slack-manifest.yaml"));
        List<String> scopes = lines.subList(lines.indexOf("    bot:") + 1, lines.indexOf("settings:")).stream()
                .map(line -> line.strip().substring(2))
                .toList();
        assertThat(new TreeSet<>(scopes)).isEqualTo(new TreeSet<>(List.of(Install.SCOPES.split(","))));
    }
}
