package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Where the local provider works and with what: by option, else by environment, else the default. */
final class LocalOptions {
    static final Option<Path> DATA =
            Option.of("--data", "DIR", "Where sandboxes live (BERTH_DATA; default /var/lib/berth).", Path::of);

    static final Option<RuntimeKind> RUNTIME = Option.of(
            "--runtime",
            "NAME",
            "What isolates: crun, runc, or runsc for hostile code (BERTH_RUNTIME; default crun).",
            LocalOptions::runtime);

    private LocalOptions() {}

    static LocalConfig config(Arguments arguments, Map<String, String> env) {
        return config(arguments, env, Wiring.isRoot(), Path.of(System.getProperty("user.home")));
    }

    static LocalConfig config(Arguments arguments, Map<String, String> env, boolean root, Path home) {
        LocalConfig config = LocalConfig.of(data(arguments.get(DATA), env, root, home));
        Optional<Path> templates =
                setting(env, "BERTH_TEMPLATES").map(dir -> Path.of(dir).toAbsolutePath());
        Optional<RuntimeKind> kind =
                arguments.get(RUNTIME).or(() -> setting(env, "BERTH_RUNTIME").map(LocalOptions::runtime));
        return config.withTemplates(templates.orElse(config.templates())).withRuntime(kind.orElse(config.runtime()));
    }

    /** Where everything of Berth on this machine is. */
    static Path data(Optional<Path> given, Map<String, String> env) {
        return data(given, env, Wiring.isRoot(), Path.of(System.getProperty("user.home")));
    }

    private static Path data(Optional<Path> given, Map<String, String> env, boolean root, Path home) {
        return given.or(() -> setting(env, "BERTH_DATA").map(Path::of))
                .orElse(root ? Path.of("/var/lib/berth") : home.resolve(".local/share/berth"))
                .toAbsolutePath()
                .normalize();
    }

    private static Optional<String> setting(Map<String, String> env, String name) {
        return Optional.ofNullable(env.get(name)).filter(value -> !value.isEmpty());
    }

    private static RuntimeKind runtime(String name) {
        return switch (name) {
            case "crun" -> RuntimeKind.CRUN;
            case "runc" -> RuntimeKind.RUNC;
            case "runsc" -> RuntimeKind.RUNSC;
            default -> throw new UsageException("there is no runtime '" + name + "'; take crun, runc or runsc");
        };
    }
}
