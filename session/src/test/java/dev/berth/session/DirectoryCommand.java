package dev.berth.session;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A process in a directory. What it prints goes to files, which can be read when it has ended: no pipe blocks anybody. */
final class DirectoryCommand implements RunningCommand {
    private final Process process;
    private final Path output;
    private final Path errors;

    private DirectoryCommand(Process process, Path output, Path errors) {
        this.process = process;
        this.output = output;
        this.errors = errors;
    }

    static DirectoryCommand start(Command command, Map<String, String> env, Path home, Path outputs)
            throws IOException {
        if (command.terminal().isPresent()
                || command.stdinOpen()
                || command.user().isPresent()
                || command.cwd().isPresent()
                || !command.timeout().isZero()) {
            throw SandboxException.unsupported(
                    "in a directory runs what needs no terminal, input, user, place or timeout");
        }
        Path output = Files.createTempFile(outputs, "command-", ".out");
        Path errors = Files.createTempFile(outputs, "command-", ".err");
        try {
            ProcessBuilder builder = new ProcessBuilder(command.argv())
                    .directory(home.toFile())
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile());
            builder.environment().putAll(env);
            builder.environment().putAll(command.env());
            builder.environment().put("HOME", home.toString());
            return new DirectoryCommand(builder.start(), output, errors);
        } catch (IOException e) {
            Files.delete(output);
            Files.delete(errors);
            throw e;
        }
    }

    @Override
    public int id() {
        return pid();
    }

    @Override
    public int pid() {
        return (int) process.pid();
    }

    @Override
    public InputStream stdout() {
        return whenEnded(output);
    }

    @Override
    public InputStream stderr() {
        return whenEnded(errors);
    }

    private InputStream whenEnded(Path file) {
        var _ = await();
        try {
            return new ByteArrayInputStream(Files.readAllBytes(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public long dropped() {
        return 0;
    }

    @Override
    public OutputStream stdin() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public void signal(Signal signal) {
        throw SandboxException.unsupported("a directory has no signals");
    }

    @Override
    public void resize(TerminalSize size) {
        throw SandboxException.unsupported("a directory has no terminals");
    }

    @Override
    public Exit await() {
        return await(Duration.ofDays(1)).orElseThrow();
    }

    @Override
    public Optional<Exit> await(Duration patience) {
        try {
            int code = process.onExit()
                    .get(patience.toMillis(), TimeUnit.MILLISECONDS)
                    .exitValue();
            return Optional.of(code > 128 ? Exit.signalled(code - 128, false) : Exit.exited(code));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for a command", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            Files.deleteIfExists(output);
            Files.deleteIfExists(errors);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
