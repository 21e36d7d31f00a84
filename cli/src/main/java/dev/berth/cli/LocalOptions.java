package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Where the local provider works and with what: by option, else by environment, else the default. */
final class LocalOptions {
    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "Where sandboxes live (BERTH_DATA; default /var/lib/berth).")
    Optional<Path> data = Optional.empty();

    @Option(
            names = "--runtime",
            paramLabel = "NAME",
            description =
                    "What isolates sandboxes: crun, runc, or runsc for hostile code (BERTH_RUNTIME; default crun).")
    Optional<String> runtime = Optional.empty();

    LocalConfig config() {
        return config(System.getenv(), Wiring.isRoot(), Path.of(System.getProperty("user.home")));
    }

    LocalConfig config(Map<String, String> env, boolean root, Path home) {
        LocalConfig config = LocalConfig.of(data(env, root, home));
        Optional<Path> templates =
                setting(env, "BERTH_TEMPLATES").map(dir -> Path.of(dir).toAbsolutePath());
        Optional<RuntimeKind> kind =
                runtime.or(() -> setting(env, "BERTH_RUNTIME")).map(LocalOptions::kind);
        return config.withTemplates(templates.orElse(config.templates())).withRuntime(kind.orElse(config.runtime()));
    }

    private Path data(Map<String, String> env, boolean root, Path home) {
        return data.or(() -> setting(env, "BERTH_DATA").map(Path::of))
                .orElseGet(() -> root ? Path.of("/var/lib/berth") : home.resolve(".local/share/berth"))
                .toAbsolutePath()
                .normalize();
    }

    private static Optional<String> setting(Map<String, String> env, String name) {
        return Optional.ofNullable(env.get(name)).filter(value -> !value.isEmpty());
    }

    private static RuntimeKind kind(String name) {
        return Arrays.stream(RuntimeKind.values())
                .filter(kind -> kind.name().toLowerCase(Locale.ROOT).equals(name))
                .findFirst()
                .orElseThrow(
                        () -> SandboxException.invalid("there is no runtime '" + name + "'; take crun, runc or runsc"));
    }
}
