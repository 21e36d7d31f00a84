package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TerminalSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The terminal that this process was started on, by stty(1), which is on every Linux. In raw mode every key, Ctrl-C too,
 * goes to the command as it is; the terminal is put back by {@link #close()}, or when the JVM ends in any other way than
 * kill -9.
 */
final class Terminal implements AutoCloseable {
    private final String before;
    private final Thread atExit = new Thread(this::restore, "terminal");

    private Terminal(String before) {
        this.before = before;
    }

    /** @param without what to say if there is none */
    static Terminal open(String without) {
        try {
            return new Terminal(stty("-g"));
        } catch (UncheckedIOException e) {
            throw SandboxException.invalid(without);
        }
    }

    /** Whether standard input is one. */
    static boolean isStandardInput() {
        try {
            stty("-g");
            return true;
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    /** How many characters fit on a line, if that can be told. */
    static Optional<Integer> width() {
        try {
            return Optional.of(new Terminal("").size().cols());
        } catch (UncheckedIOException e) {
            return Optional.empty();
        }
    }

    TerminalSize size() {
        String[] size = stty("size").split(" ");
        int rows = Integer.parseInt(size[0]);
        int cols = Integer.parseInt(size[1]);
        return rows > 0 && cols > 0 ? new TerminalSize(rows, cols) : new TerminalSize(24, 80); // a serial line says 0 0
    }

    void raw() {
        Runtime.getRuntime().addShutdownHook(atExit);
        stty("raw", "-echo");
    }

    /** Lines are edited as usual, and not shown. */
    void hideTyping() {
        Runtime.getRuntime().addShutdownHook(atExit);
        stty("-echo");
    }

    @Override
    public void close() {
        restore();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The JVM is ending; the hook does the same once more.
        }
    }

    private void restore() {
        stty(before);
    }

    private static String stty(String... arguments) {
        List<String> command = new ArrayList<>(List.of("stty"));
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command)
                    .redirectInput(Redirect.INHERIT)
                    .redirectError(Redirect.DISCARD)
                    .start();
            String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (!process.waitFor(5, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("stty failed");
            }
            return answer;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UncheckedIOException(new IOException("stty was interrupted", e));
        }
    }
}
