package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A program of the machine, called with an argument vector, a deadline and an environment of its own.
 *
 * <p>Its output, both streams as one, is read line by line on a platform thread; only the last lines are kept.
 */
final class ExternalCommand {
    static final int KEPT_LINES = 20;
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private final String program;
    private final List<String> argv;
    private final Map<String, String> env;
    private final @Nullable Path directory;
    private final Duration limit;
    private final Consumer<Process> started;

    private ExternalCommand(
            String program,
            List<String> argv,
            Map<String, String> env,
            @Nullable Path directory,
            Duration limit,
            Consumer<Process> started) {
        this.program = program;
        this.argv = argv;
        this.env = env;
        this.directory = directory;
        this.limit = limit;
        this.started = started;
    }

    static ExternalCommand of(List<String> argv) {
        return new ExternalCommand(argv.getFirst(), List.copyOf(argv), Map.of(), null, Duration.ofMinutes(30), _ -> {});
    }

    /**
     * The same command in a mount and a pid namespace of its own, which end with it: whatever it mounts is unmounted and
     * whatever it started is killed, also when this process is killed with -9 (prctl(2), PR_SET_PDEATHSIG).
     *
     * <p>The death signal is bound to the <em>thread</em> that starts the command, so that has to be a platform thread
     * that stays until the command has ended.
     */
    ExternalCommand confined() {
        List<String> confined = new ArrayList<>(List.of(
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--"));
        confined.addAll(argv);
        return new ExternalCommand(program, confined, env, directory, limit, started);
    }

    ExternalCommand in(Path workdir) {
        return new ExternalCommand(program, argv, env, workdir, limit, started);
    }

    /** The same command, which another one puts itself in front of. */
    ExternalCommand after(List<String> first) {
        List<String> all = new ArrayList<>(first);
        all.addAll(argv);
        return new ExternalCommand(program, all, env, directory, limit, started);
    }

    /** Tells of the process as soon as it is there. */
    ExternalCommand whenStarted(Consumer<Process> watcher) {
        return new ExternalCommand(program, argv, env, directory, limit, watcher);
    }

    ExternalCommand with(Map<String, String> environment) {
        return new ExternalCommand(program, argv, Map.copyOf(environment), directory, limit, started);
    }

    ExternalCommand within(Duration patience) {
        return new ExternalCommand(program, argv, env, directory, patience, started);
    }

    /** How a command ended, with the last lines it wrote. */
    record Ended(String program, int status, boolean timedOut, List<String> lastLines) {
        boolean ok() {
            return status == 0 && !timedOut;
        }

        void orThrow() throws IOException {
            if (!ok()) {
                throw new IOException(program
                        + (timedOut ? " took too long" : " ended with status " + status)
                        + (lastLines.isEmpty() ? "" : ": " + String.join(" / ", lastLines)));
            }
        }
    }

    Ended run(Consumer<String> onLine) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(argv)
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
        if (directory != null) {
            builder.directory(directory.toFile());
        }
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", PATH, "LANG", "C.UTF-8", "HOME", "/root"));
        builder.environment().putAll(env);
        Process process = builder.start();
        started.accept(process);
        LastLines last = new LastLines();
        Thread reader = Thread.ofPlatform()
                .daemon()
                .name("output of " + program)
                .start(() -> read(process.getInputStream(), line -> {
                    last.add(line);
                    try {
                        onLine.accept(line);
                    } catch (RuntimeException e) {
                        // a watcher that fails must not stop the reading, or the command would wait for ever
                    }
                }));
        try {
            boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (!ended) {
                process.destroyForcibly().waitFor();
            }
            reader.join(Duration.ofSeconds(5));
            return new Ended(program, process.exitValue(), !ended, last.lines());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while running " + program, e);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Where a program is, if the machine has it. */
    static Optional<Path> find(String program) {
        for (String directory : PATH.split(":")) {
            Path candidate = Path.of(directory, program);
            if (Files.isExecutable(candidate)) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }

    /** Splits at newlines and at the carriage returns of progress bars; cuts what is longer than a line has any right to be. */
    private static void read(InputStream in, Consumer<String> onLine) {
        LineSplitter splitter = new LineSplitter(onLine);
        byte[] buffer = new byte[1 << 14];
        try (in) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                splitter.add(buffer, n);
            }
        } catch (IOException e) {
            // the command was killed and its pipe is closed: what came until now is what there is
        }
        splitter.end();
    }

    private static final class LastLines {
        private final ArrayDeque<String> lines = new ArrayDeque<>();

        synchronized void add(String line) {
            if (lines.size() == KEPT_LINES) {
                lines.removeFirst();
            }
            lines.addLast(line);
        }

        synchronized List<String> lines() {
            return List.copyOf(lines);
        }
    }
}
