package dev.berth.cli.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A machine to examine.
 *
 * @param root where its {@code /} is: {@code /}, or a directory that a test filled
 * @param isRoot whether we are its superuser
 * @param java the version of the Java we run on
 * @param data where sandboxes are to live
 * @param runtime the OCI runtime that is to be used
 * @param templates the templates that are built
 * @param path where programs are looked for
 * @param output the first line that a program says when run with these arguments, empty if it fails
 * @param freeBytes what can still be written below a directory
 */
public record Machine(
        Path root,
        boolean isRoot,
        String java,
        Path data,
        String runtime,
        List<String> templates,
        List<Path> path,
        Function<List<String>, Optional<String>> output,
        ToLongFunction<Path> freeBytes) {

    private static final List<Path> PATH = List.of(
            Path.of("/usr/local/sbin"),
            Path.of("/usr/local/bin"),
            Path.of("/usr/sbin"),
            Path.of("/usr/bin"),
            Path.of("/sbin"),
            Path.of("/bin"));

    /** The one that we run on. */
    public static Machine here(boolean isRoot, Path data, String runtime, List<String> templates) {
        String java = System.getProperty("java.version");
        return new Machine(
                Path.of("/"), isRoot, java, data, runtime, templates, PATH, Machine::firstLine, Machine::usableSpace);
    }

    Optional<String> read(String file) {
        // Not by Files.readString: that asks for one byte first, and a file of /proc/sys answers only the first read.
        try (InputStream in = Files.newInputStream(at(file))) {
            return Optional.of(new String(in.readAllBytes(), StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** A number in a file of its own, as /proc/sys has them. */
    Optional<Long> number(String file) {
        return read(file).filter(text -> text.matches("[0-9]{1,18}")).map(Long::parseLong);
    }

    boolean exists(String file) {
        return Files.exists(at(file));
    }

    Optional<Path> program(String name) {
        return path.stream()
                .map(directory -> at(directory.resolve(name).toString()))
                .filter(Files::isExecutable)
                .findFirst();
    }

    private Path at(String file) {
        return root.resolve(file.substring(1));
    }

    private static Optional<String> firstLine(List<String> command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .start();
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return Optional.empty();
            }
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return process.exitValue() == 0 ? text.lines().findFirst() : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    /** Of the directory, or of where it would be made. */
    private static long usableSpace(Path directory) {
        Path existing = directory;
        while (!Files.exists(existing) && existing.getParent() != null) {
            existing = existing.getParent();
        }
        try {
            return Files.getFileStore(existing).getUsableSpace();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
