package dev.berth.sandbox.local.attack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The attackers' programs, compiled from the resources: static, since a sandbox need not have the host's libraries. */
final class Weapons {
    private static final List<String> ATTACK = List.of(
            "attack.c", "namespaces.c", "mounts.c", "kernel.c", "processes.c", "sockets.c", "files.c", "devices.c");

    private Weapons() {}

    /** Tries one of many system calls, by its sentence. */
    static byte[] attack() throws IOException {
        return compile(ATTACK);
    }

    /** Swaps two names for ever. */
    static byte[] swap() throws IOException {
        return compile(List.of("swap.c"));
    }

    /** Runs a program on the host, for lists and controls, and returns what it printed and its exit code. */
    static HostRun onHost(byte[] program, List<String> prefix, String... arguments) throws IOException {
        Path file = Files.createTempFile("berth-attack", "");
        try {
            Files.write(file, program);
            assertThat(file.toFile().setExecutable(true)).isTrue();
            List<String> command = new ArrayList<>(prefix);
            command.add(file.toString());
            command.addAll(List.of(arguments));
            return run(command);
        } finally {
            Files.delete(file);
        }
    }

    /** How a program on the host ended. */
    record HostRun(int code, String output) {}

    private static byte[] compile(List<String> sources) throws IOException {
        Path program = Files.createTempFile("berth-weapon", "");
        try {
            List<String> command = new ArrayList<>(List.of("gcc", "-static", "-O1", "-o", program.toString()));
            for (String source : sources) {
                command.add(resource(source).toString());
            }
            HostRun compiler = run(command);
            assertThat(compiler.code()).as(compiler.output()).isZero();
            return Files.readAllBytes(program);
        } finally {
            Files.delete(program);
        }
    }

    private static Path resource(String name) {
        URL found = Weapons.class.getResource("/attack/" + name);
        assertThat(found).as(name).isNotNull();
        try {
            return Path.of(found.toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static HostRun run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        try {
            return new HostRun(process.waitFor(), output);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }
}
