package dev.berth.cli.config;

import dev.berth.cli.args.Option;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * One thing that can be set, and the key to ask {@link Values} for it.
 *
 * @param name in a file, where its dots are levels
 * @param standard what it is when nobody sets it
 * @param shown how docs show that
 * @param env its variable
 * @param aliases variables of other programs that mean the same
 * @param flag its option on the command line, if it has one; secrets have none, since others see command lines
 * @param secret whether its value must not be shown, not even in an error
 * @param description one sentence
 */
public record Setting<T>(
        String name,
        Type<T> type,
        T standard,
        String shown,
        String env,
        List<Alias> aliases,
        Optional<Option<String>> flag,
        boolean secret,
        String description) {

    /**
     * A variable that another program has for the same thing.
     *
     * @param reading makes of its value one of ours
     */
    record Alias(String variable, UnaryOperator<String> reading) {}

    static <T> Setting<T> of(String name, Type<T> type, String standard, String description) {
        return new Setting<>(
                name,
                type,
                type.reader().apply(standard),
                standard,
                env(name),
                List.of(),
                Optional.empty(),
                false,
                description);
    }

    /** One that has no value, or one that follows from others, unless somebody sets it. */
    static <T> Setting<Optional<T>> optional(String name, Type<T> type, String shown, String description) {
        return new Setting<>(
                name,
                type.optional(),
                Optional.empty(),
                shown,
                env(name),
                List.of(),
                Optional.empty(),
                false,
                description);
    }

    private static String env(String name) {
        return "BERTH_" + name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    Setting<T> flag(String option) {
        String sentence = description + " (" + env + (shown.isEmpty() ? "" : "; default " + shown) + ")";
        return new Setting<>(
                name,
                type,
                standard,
                shown,
                env,
                aliases,
                Optional.of(Option.of(option, type.label(), sentence)),
                secret,
                description);
    }

    Setting<T> variable(String variable) {
        return new Setting<>(name, type, standard, shown, variable, aliases, flag, secret, description);
    }

    Setting<T> alias(String variable) {
        return alias(variable, text -> text);
    }

    Setting<T> alias(String variable, UnaryOperator<String> reading) {
        List<Alias> more = new ArrayList<>(aliases);
        more.add(new Alias(variable, reading));
        return new Setting<>(name, type, standard, shown, env, more, flag, secret, description);
    }

    Setting<T> asSecret() {
        return new Setting<>(name, type, standard, shown, env, aliases, flag, true, description);
    }
}
