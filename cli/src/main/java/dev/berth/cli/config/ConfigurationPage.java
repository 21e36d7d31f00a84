package dev.berth.cli.config;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** docs/configuration.md, made of the table. */
final class ConfigurationPage {
    private static final String TOP = """
            # Configuration

            `./berth up` needs none. What can be set is here; the page is made of the table in `Settings`, and a test compares them.

            A setting is read from its option, else from its variable, else from the YAML file that `--config` or `BERTH_CONFIG` names, else it has its
            default. In the file, dots are levels:

            ```yaml
            port: 9000
            limits:
              memory: 1g
              pids: 512
            idle:
              pause: 5m
              delete: never
            warm:
              base: 2
            ```

            A variable that begins with `BERTH_` and is not known, an unknown name in the file, or a value that makes no sense stops the start; all of
            them are listed at once, each with its place and what to do. A variable that is empty counts as not set. Secrets have no option, because
            anybody on a machine can read command lines, and are not repeated in errors or logs.

            Sizes are numbers with `k`, `m`, `g` or `t` (powers of 1024), times with `ms`, `s`, `m`, `h` or `d`; where it is said, `never` or `none`
            means no limit.
            """;

    private ConfigurationPage() {}

    static String text() {
        return TOP
                + Settings.PARTS.entrySet().stream()
                        .map(part -> "\n## " + part.getKey() + "\n\n" + table(part.getValue()))
                        .collect(Collectors.joining())
                + foreign();
    }

    private static String table(List<Setting<?>> settings) {
        return "| name | value | default | variable | option | |\n|---|---|---|---|---|---|\n"
                + settings.stream().map(ConfigurationPage::row).collect(Collectors.joining());
    }

    private static String row(Setting<?> setting) {
        String variables = Stream.concat(
                        Stream.of(setting.env()), setting.aliases().stream().map(Setting.Alias::variable))
                .map(ConfigurationPage::code)
                .collect(Collectors.joining(", "));
        String option =
                setting.flag().map(flag -> code(flag.names().getLast())).orElse(setting.secret() ? "none: secret" : "");
        return "| " + code(setting.name()) + " | " + code(setting.type().label().replace("|", "\\|")) + " | "
                + standard(setting) + " | " + variables + " | " + option + " | " + setting.description() + " |\n";
    }

    /** A value as code, and words as words. */
    private static String standard(Setting<?> setting) {
        return setting.shown().contains(" ") ? setting.shown().replace("<", "&lt;") : code(setting.shown());
    }

    private static String code(String text) {
        return "`" + text + "`";
    }

    private static String foreign() {
        return """

                ## Variables of other programs

                Where the tables name more than one variable, the first is Berth's own and goes before the others, which other sandbox servers have for the
                same thing. `SANDBOX_IDLE_TIMEOUT` is a number of seconds. `E2B_ALLOW_INTERNET_ACCESS` is true for `open` and false for `none`. `SANDBOX_BACKEND` may be `local`; `docker` and `e2b` are refused by name.
                These are refused when they are true, since Berth has not what they ask for:

                | variable | |
                |---|---|
                """
                + Foreign.ALL.stream()
                        .map(it -> "| " + code(it.variable()) + " | " + it.why() + " |\n")
                        .collect(Collectors.joining());
    }
}
