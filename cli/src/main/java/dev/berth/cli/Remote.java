package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.client.BerthClient;
import dev.berth.client.BerthException;
import dev.berth.client.Json;
import dev.berth.client.SessionClient;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** What a command that calls a server works with. */
record Remote(BerthClient berth, Arguments arguments, Console console, boolean json) {

    String operand(int index) {
        return arguments.operands().get(index);
    }

    /** The session that the first operand names. */
    SessionClient session() {
        return berth.session(operand(0));
    }

    /** One object: as the server said it, or as a table of its own. */
    void show(Json object, Table table) {
        if (json) {
            print(object);
        } else {
            print(table);
        }
    }

    /** Many objects: as the server said them, or one a line. */
    void show(String name, List<Json> objects, Table table) {
        show(Json.object().with(name, objects), table);
    }

    void print(Json object) {
        console.out().println(console.onTerminal().getAsBoolean() ? object.pretty() : object.toString());
    }

    void print(Table table) {
        table.print(console.out(), console.width());
    }

    /**
     * Does something with each operand, and goes on after a failure, so that one bad name does not save the others. The
     * first failure is the exit code.
     */
    int each(String name, Function<String, Json> work) {
        int code = 0;
        List<Json> done = new ArrayList<>();
        for (String operand : arguments.operands()) {
            try {
                done.add(work.apply(operand));
                if (!json) {
                    console.out().println(operand);
                }
            } catch (BerthException e) {
                console.say(operand + ": " + e.getMessage());
                code = code == 0 ? ExitCodes.of(e) : code;
            }
        }
        if (json) {
            print(
                    arguments.operands().size() == 1 && done.size() == 1
                            ? done.getFirst()
                            : Json.object().with(name, done));
        }
        return code;
    }

    /** How long ago, as short as can be. */
    static String age(Instant then, Instant now) {
        Duration age = Duration.between(then, now).truncatedTo(ChronoUnit.SECONDS);
        return Durations.format(age.isNegative() ? Duration.ZERO : age);
    }

    /** On one line and without what a terminal acts on: it came from a sandbox. */
    static String plain(String text) {
        StringBuilder plain = new StringBuilder();
        text.codePoints()
                .forEach(c -> plain.appendCodePoint(
                        Character.isISOControl(c) || Character.getType(c) == Character.FORMAT ? ' ' : c));
        return plain.toString();
    }
}
