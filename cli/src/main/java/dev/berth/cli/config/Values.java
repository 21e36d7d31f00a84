package dev.berth.cli.config;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The settings of one start, read and found right. There are secrets among them. */
public final class Values {
    private final Map<String, String> texts;

    private Values(Map<String, String> texts) {
        this.texts = Map.copyOf(texts);
    }

    /** Settings by name, as a file would have them, and the defaults for all others. */
    public static Values of(Map<String, String> texts) {
        Problems problems = new Problems();
        Values values = new Values(texts);
        texts.forEach((name, text) -> {
            Setting<?> setting = Settings.BY_NAME.get(name);
            if (setting == null) {
                problems.unknown(name, name, Settings.BY_NAME.keySet());
            } else {
                check(setting, new Given(name, text), problems);
            }
        });
        Together.check(values, problems);
        problems.throwIfAny();
        return values;
    }

    /**
     * Reads flags, environment and the file that one of them names, in this order: the first that has a setting decides.
     *
     * @throws SandboxException {@code invalid} with everything that is wrong with any of them
     */
    public static Values read(Arguments arguments, Map<String, String> env) {
        Problems problems = new Problems();
        refuseWhatIsNotThere(env, problems);
        Map<String, YamlFile.Entry> file = configFile(arguments, env)
                .map(path -> YamlFile.read(path, problems))
                .orElse(Map.of());
        Map<String, String> texts = new HashMap<>();
        for (Setting<?> setting : Settings.ALL) {
            for (Given given : given(setting, arguments, env, file, problems)) {
                // What is overruled is checked too: the day will come when it is not.
                if (check(setting, given, problems)) {
                    texts.putIfAbsent(setting.name(), given.text());
                }
            }
        }
        Values values = new Values(texts);
        Together.check(values, problems);
        problems.throwIfAny();
        return values;
    }

    public <T> T get(Setting<T> setting) {
        String text = texts.get(setting.name());
        return text == null ? setting.standard() : setting.type().reader().apply(text);
    }

    /** Whether somebody set it. */
    public boolean has(Setting<?> setting) {
        return texts.containsKey(setting.name());
    }

    /** What was set, not to what. */
    @Override
    public String toString() {
        return "Values" + texts.keySet();
    }

    /** A value, and what to call its place when it is wrong. */
    private record Given(String where, String text) {}

    private static Optional<Path> configFile(Arguments arguments, Map<String, String> env) {
        return Settings.CONFIG
                .flag()
                .flatMap(arguments::get)
                .or(() -> variable(env, Settings.CONFIG.env()))
                .map(text -> Path.of(text).toAbsolutePath().normalize());
    }

    private static Optional<String> variable(Map<String, String> env, String name) {
        return Optional.ofNullable(env.get(name)).filter(value -> !value.isEmpty());
    }

    private static List<Given> given(
            Setting<?> setting,
            Arguments arguments,
            Map<String, String> env,
            Map<String, YamlFile.Entry> file,
            Problems problems) {
        List<Given> all = new ArrayList<>();
        setting.flag()
                .ifPresent(option -> arguments
                        .get(option)
                        .ifPresent(text -> all.add(new Given(option.names().getLast(), text))));
        variable(env, setting.env()).ifPresent(text -> all.add(new Given(setting.env(), text)));
        for (Setting.Alias alias : setting.aliases()) {
            variable(env, alias.variable()).ifPresent(text -> {
                try {
                    all.add(new Given(alias.variable(), alias.reading().apply(text)));
                } catch (UsageException e) {
                    problems.add(alias.variable(), String.valueOf(e.getMessage()));
                }
            });
        }
        YamlFile.Entry entry = file.get(setting.name());
        if (entry != null && setting.equals(Settings.CONFIG)) {
            problems.add(entry.where(), "a file cannot name another one; give it by --config or BERTH_CONFIG");
        } else if (entry != null) {
            all.add(new Given(entry.where() + ": " + setting.name(), entry.text()));
        }
        return all;
    }

    private static boolean check(Setting<?> setting, Given given, Problems problems) {
        try {
            var _ = setting.type().reader().apply(given.text());
            return true;
        } catch (UsageException | SandboxException e) {
            String message = String.valueOf(e.getMessage());
            problems.add(given.where(), setting.secret() ? message.replace(given.text(), "…") : message);
            return false;
        }
    }

    /** Variables that begin with our name are ours, so one that is not known is a mistake; others are only looked at. */
    private static void refuseWhatIsNotThere(Map<String, String> env, Problems problems) {
        new TreeMap<>(env).forEach((name, value) -> {
            if (name.startsWith("BERTH_") && !value.isEmpty() && !Settings.VARIABLES.contains(name)) {
                problems.unknown(name, name, Settings.VARIABLES);
            }
        });
        for (Foreign foreign : Foreign.ALL) {
            variable(env, foreign.variable()).ifPresent(value -> {
                try {
                    foreign.check(value);
                } catch (UsageException e) {
                    problems.add(foreign.variable(), String.valueOf(e.getMessage()));
                }
            });
        }
    }
}
