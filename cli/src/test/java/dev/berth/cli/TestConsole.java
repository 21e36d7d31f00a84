package dev.berth.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;

/** A console that keeps what it is told. */
final class TestConsole {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    Console console() {
        return new Console(new PrintWriter(out, true), new PrintWriter(err, true), Map.of(), () -> false);
    }

    String out() {
        return out.toString();
    }

    String err() {
        return err.toString();
    }
}
