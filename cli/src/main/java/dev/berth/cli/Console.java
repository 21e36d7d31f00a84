package dev.berth.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Where a command's words go and what it is told by its surroundings.
 *
 * @param onTerminal whether the output is shown on a terminal
 */
record Console(PrintWriter out, PrintWriter err, Map<String, String> env, BooleanSupplier onTerminal) {

    static Console ofThisProcess() {
        PrintWriter out = new PrintWriter(System.out, true, UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, UTF_8);
        return new Console(
                out,
                err,
                System.getenv(),
                () -> Optional.ofNullable(System.console())
                        .filter(java.io.Console::isTerminal)
                        .isPresent());
    }

    /** One that keeps nothing of what it is told. */
    static Console silent() {
        return new Console(
                new PrintWriter(new StringWriter()), new PrintWriter(new StringWriter()), Map.of(), () -> false);
    }

    /** Not where colours would be noise, or are unwanted by the custom of no-color.org. */
    boolean showsColours() {
        return env.getOrDefault("NO_COLOR", "").isEmpty() && onTerminal.getAsBoolean();
    }

    /** How wide a line may be: as wide as the terminal, or without an end where there is none. */
    int width() {
        if (!onTerminal.getAsBoolean()) {
            return Integer.MAX_VALUE;
        }
        return Terminal.width().orElse(80);
    }

    /** What went wrong or is worth a word, apart from the output. */
    void say(String message) {
        err.println("berth: " + message);
    }
}
