package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LocalOptionsTest {
    private static final Path HOME = Path.of("/home/ada");

    @Test
    void hasDefaults() {
        assertThat(config(Map.of(), true)).isEqualTo(LocalConfig.of(Path.of("/var/lib/berth")));
        assertThat(config(Map.of(), false).data()).isEqualTo(Path.of("/home/ada/.local/share/berth"));
    }

    @Test
    void takesWhatTheEnvironmentSays() {
        LocalConfig config = config(
                Map.of("BERTH_DATA", "/srv/berth", "BERTH_TEMPLATES", "/srv/templates", "BERTH_RUNTIME", "runsc"),
                true);
        assertThat(config.data()).isEqualTo(Path.of("/srv/berth"));
        assertThat(config.templates()).isEqualTo(Path.of("/srv/templates"));
        assertThat(config.runtime()).isEqualTo(RuntimeKind.RUNSC);
    }

    @Test
    void prefersOptionsToTheEnvironment() {
        LocalConfig config = config(
                Map.of("BERTH_DATA", "/srv/berth", "BERTH_RUNTIME", "runsc"),
                true,
                "--data",
                "/d",
                "--runtime",
                "runc");
        assertThat(config.data()).isEqualTo(Path.of("/d"));
        assertThat(config.templates()).isEqualTo(Path.of("/d/templates"));
        assertThat(config.runtime()).isEqualTo(RuntimeKind.RUNC);
    }

    @Test
    void takesAnEmptyVariableForNone() {
        assertThat(config(Map.of("BERTH_DATA", "", "BERTH_RUNTIME", ""), true))
                .isEqualTo(LocalConfig.of(Path.of("/var/lib/berth")));
    }

    @Test
    void makesPathsAbsolute() {
        assertThat(config(Map.of(), true, "--data", "here/../there").data())
                .isEqualTo(Path.of("there").toAbsolutePath());
    }

    @Test
    void refusesARuntimeThatThereIsNot() {
        assertThatThrownBy(() -> config(Map.of("BERTH_RUNTIME", "podman"), true))
                .hasMessage("there is no runtime 'podman'; take crun, runc or runsc");
    }

    private static LocalConfig config(Map<String, String> env, boolean root, String... words) {
        return LocalOptions.config(new DoctorCommand().syntax().parse(List.of(words)), env, root, HOME);
    }
}
