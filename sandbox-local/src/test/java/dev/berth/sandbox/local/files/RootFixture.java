package dev.berth.sandbox.local.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** A directory that stands for a sandbox's root, with one beside it that nothing may reach. Needs root. */
final class RootFixture {
    static final int UID = 1000;
    static final String CANARY = "the host's secret";

    final Path root;
    final Path outside;
    final RootFiles files;

    RootFixture(Path directory) throws IOException {
        root = Files.createDirectories(directory.resolve("root"));
        outside = Files.createDirectories(directory.resolve("outside"));
        Files.createDirectories(root.resolve("home/user"));
        Files.writeString(outside.resolve("secret"), CANARY);
        sh("chmod 600 outside/secret", directory);
        files = files("/home/user");
    }

    private RootFiles files(String home) {
        return new RootFiles(() -> root, UID, UID, home, this::account);
    }

    private Account account(String user) {
        return new Accounts(() -> root)
                .find(user)
                .map(found -> new Account(found.name(), found.uid(), found.gid(), found.home()))
                .orElseThrow(() -> SandboxException.invalid("there is no user " + user));
    }

    static InputStream bytes(String text) {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    String read(String path) {
        try (InputStream in = files.read(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a command in the root, as the sandbox or its template would. */
    void sh(String script) {
        sh(script, root);
    }

    static void sh(String script, Path directory) {
        run(directory, "sh", "-ec", script);
    }

    static void python(String script, Path directory) {
        run(directory, "python3", "-c", script);
    }

    private static void run(Path directory, String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor()).as(output).isZero();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Starts a python program in the root, which it cannot leave, and waits until it prints its first line. */
    Process startPython(String script) throws IOException {
        String confined = "import ctypes, fcntl, os, signal, sys\nlibc = ctypes.CDLL(None)\nos.chroot('.')\n" + script;
        Process process = new ProcessBuilder(List.of("python3", "-c", confined))
                .directory(root.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        assertThat(process.inputReader().readLine()).isEqualTo("ready");
        return process;
    }

    void assertNothingReachedOutside() throws IOException {
        assertThat(outside.resolve("secret")).hasContent(CANARY);
        assertThat(Files.getAttribute(outside.resolve("secret"), "unix:mode")).isEqualTo(0100600);
        assertThat(Files.getAttribute(outside.resolve("secret"), "unix:uid")).isEqualTo(0);
        try (var entries = Files.list(outside)) {
            assertThat(entries).containsExactly(outside.resolve("secret"));
        }
    }

    /** Asserts what an operation fails with, and that its sentence does not tell where the root is on the host. */
    void assertFails(ErrorCode code, ThrowingCallable operation) {
        SandboxException failure = catchThrowableOfType(SandboxException.class, operation);
        assertThat(failure).as("failure").isNotNull();
        assertThat(failure.code()).as(failure.getMessage()).isEqualTo(code);
        assertThat(failure.getMessage())
                .startsWith("could not ")
                .doesNotContain(root.toString())
                .doesNotContain("/proc/self/fd");
    }
}
