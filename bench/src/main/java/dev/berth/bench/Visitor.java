package dev.berth.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/** A running visitor.py, inside a sandbox or beside it. */
final class Visitor implements AutoCloseable {
    private final OutputStream orders;
    private final BufferedReader answers;
    private final Runnable end;

    /** @param end how to end the program */
    Visitor(OutputStream orders, InputStream answers, Runnable end) {
        this.orders = orders;
        this.answers = new BufferedReader(new InputStreamReader(answers, StandardCharsets.UTF_8));
        this.end = end;
    }

    /** Has it do something, and returns how many nanoseconds each time took. */
    List<Long> order(String what, int count, String server) throws IOException {
        orders.write((what + " " + count + " " + server + "\n").getBytes(StandardCharsets.UTF_8));
        orders.flush();
        String answer = answers.readLine();
        if (answer == null || !answer.matches("[0-9 ]+")) {
            throw new IOException("the program that visits servers could not '" + what + "' " + server + ": "
                    + (answer == null ? "it has ended" : answer));
        }
        return Stream.of(answer.split(" ", -1)).map(Long::valueOf).toList();
    }

    @Override
    public void close() {
        end.run();
    }
}
