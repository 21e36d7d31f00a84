package dev.berth.cli;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** A command that has printed all it will, and remembers what was done to it. */
final class FakeCommand implements RunningCommand {
    final List<Signal> signals = Collections.synchronizedList(new ArrayList<>());
    final CountDownLatch stdinClosed = new CountDownLatch(1);
    private final InputStream stdout;
    private final InputStream stderr;
    private final Exit exit;
    private final ByteArrayOutputStream stdin = new ByteArrayOutputStream() {
        @Override
        public void close() {
            stdinClosed.countDown();
        }
    };

    FakeCommand(String stdout, String stderr, Exit exit) {
        this.stdout = new ByteArrayInputStream(stdout.getBytes(StandardCharsets.UTF_8));
        this.stderr = new ByteArrayInputStream(stderr.getBytes(StandardCharsets.UTF_8));
        this.exit = exit;
    }

    String fed() {
        return stdin.toString(StandardCharsets.UTF_8);
    }

    @Override
    public int id() {
        return 1;
    }

    @Override
    public int pid() {
        return 2;
    }

    @Override
    public InputStream stdout() {
        return stdout;
    }

    @Override
    public InputStream stderr() {
        return stderr;
    }

    @Override
    public long dropped() {
        return 0;
    }

    @Override
    public OutputStream stdin() {
        return stdin;
    }

    @Override
    public void signal(Signal signal) {
        signals.add(signal);
    }

    @Override
    public void resize(TerminalSize size) {}

    @Override
    public Exit await() {
        return exit;
    }

    @Override
    public Optional<Exit> await(Duration patience) {
        return Optional.of(exit);
    }

    @Override
    public void close() {}
}
