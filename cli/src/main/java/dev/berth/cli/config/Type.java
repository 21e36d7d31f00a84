package dev.berth.cli.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * How the text of a setting is read.
 *
 * @param label what the text is called in help and docs
 * @param mapping whether a file may have {@code {a: 1, b: 2}} for {@code a=1,b=2}
 * @param reader makes the value of the text, or throws with what is wrong with it
 */
record Type<T>(String label, boolean mapping, Function<String, T> reader) {

    static <T> Type<T> of(String label, Function<String, T> reader) {
        return new Type<>(label, false, reader);
    }

    /** The same, for a setting that may have no value. */
    Type<Optional<T>> optional() {
        return new Type<>(label, mapping, text -> Optional.of(reader.apply(text)));
    }

    /** The same, where a word stands for no value. */
    Type<Optional<T>> or(String none) {
        return new Type<>(
                label, mapping, text -> text.equals(none) ? Optional.empty() : Optional.of(reader.apply(text)));
    }
}
