package dev.berth.cli.args;

import java.util.List;
import java.util.function.Function;

/**
 * An option that a command takes, and the key to ask {@link Arguments} for its value.
 *
 * @param names such as {@code -e} and {@code --env}
 * @param label what its value is called in help, empty for a flag
 * @param description for help, one sentence
 * @param reader makes the value of the text, or throws {@link UsageException} with what is wrong with it
 */
public record Option<T>(List<String> names, String label, String description, Function<String, T> reader) {

    /** An option with a value. */
    public static <T> Option<T> of(String names, String label, String description, Function<String, T> reader) {
        return new Option<>(List.of(names.split(", ")), label, description, reader);
    }

    public static Option<String> of(String names, String label, String description) {
        return of(names, label, description, text -> text);
    }

    /** An option that is there or not. */
    public static Option<Boolean> flag(String names, String description) {
        return of(names, "", description, text -> true);
    }

    boolean isFlag() {
        return label.isEmpty();
    }

    /** How help shows it: short names first, and long names under each other where there is no short one. */
    String form() {
        String first = names.getFirst().startsWith("--") ? "    " : "";
        return first + String.join(", ", names) + (isFlag() ? "" : " " + label);
    }

    T read(String text) {
        try {
            return reader.apply(text);
        } catch (UsageException e) {
            throw new UsageException(names.getLast() + ": " + e.getMessage());
        }
    }

    /** Reads a whole number of at least this much. */
    public static Function<String, Integer> atLeast(int least) {
        return text -> {
            try {
                int number = Integer.parseInt(text);
                if (number >= least) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // said below
            }
            throw new UsageException("'" + text + "' is not a whole number of at least " + least);
        };
    }
}
