package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Values;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A server as a process of its own, and a directory in which {@code berth} is a command that calls it. */
final class RemoteCli implements AutoCloseable {
    record Ran(int code, String out, String err) {}

    /** Open to the user of the database, and short, as a socket in it needs. */
    private final Path directory;

    private final RunningServer server;

    RemoteCli(Map<String, String> env) throws Exception {
        directory = Files.createTempDirectory(Path.of("/var/tmp"), "berth-cli-");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
        Path data = Files.createDirectories(directory.resolve("data"));
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
        server = RunningServer.start(data, env).awaitReady();
        Path berth = directory.resolve("bin/berth");
        Files.createDirectories(berth.getParent());
        Files.writeString(
                berth,
                "#!/bin/sh\nexec '" + Path.of(System.getProperty("java.home"), "bin", "java")
                        + "' --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp '"
                        + System.getProperty("java.class.path") + "' dev.berth.cli.Berth \"$@\"\n");
        Files.setPosixFilePermissions(berth, PosixFilePermissions.fromString("rwx------"));
    }

    Path directory() {
        return directory;
    }

    /** Without a key in the environment: that of the server on this machine is found. */
    Ran run(Path cwd, String line) throws IOException, InterruptedException {
        Path err = Files.createTempFile(directory, "err", "");
        Process process = start(
                new ProcessBuilder("bash", "-c", line).directory(cwd.toFile()).redirectError(err.toFile()));
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(line).isTrue();
        return new Ran(process.exitValue(), out, Files.readString(err));
    }

    Ran run(String line) throws IOException, InterruptedException {
        return run(directory, line);
    }

    /** The output of what has to go well, without its line end. */
    String out(String line) throws IOException, InterruptedException {
        Ran ran = run(line);
        assertThat(ran.code()).as(line + ran).isZero();
        return ran.out().strip();
    }

    /** The command itself, without a shell; to be {@linkplain #start started}. */
    ProcessBuilder berth(String... words) {
        List<String> command =
                new ArrayList<>(List.of(directory.resolve("bin/berth").toString()));
        command.addAll(List.of(words));
        return new ProcessBuilder(command);
    }

    Process start(ProcessBuilder builder) throws IOException {
        builder.environment().keySet().removeIf(name -> name.startsWith("BERTH_"));
        builder.environment().put("BERTH_URL", server.url());
        builder.environment().put("BERTH_DATA", directory.resolve("data").toString());
        builder.environment().merge("PATH", "", (path, _) -> directory.resolve("bin") + ":" + path);
        return builder.start();
    }

    @Override
    public void close() throws IOException {
        server.close();
        Path data = directory.resolve("data");
        ServerSettings settings =
                new ServerSettings(Values.of(Map.of("data", data.toString(), "store", "plain", "template", "host")));
        // What a test that failed left is removed all the same, before the walk: there are mounts in it.
        try (LocalProvider provider = LocalProvider.open(settings.local(Map.of()))) {
            provider.list().forEach(Sandbox::destroy);
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
