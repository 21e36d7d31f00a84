package dev.berth.sandbox.local.attack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A machine under attack: a hostile sandbox in which attackers have root if they want, a peaceful neighbour, and a
 * canary, a directory of the host that no attack may read or change.
 */
final class Siege implements AutoCloseable {
    /** Longer than what the attacks themselves can append to a file of this name inside, which is told by its size. */
    static final String SECRET = "the-secret-of-the-host".repeat(1000);

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final RuntimeKind runtime;
    private final TestMachine machine;
    private final Path canary;
    private final AtomicInteger counter = new AtomicInteger();
    private final SandboxId hostile;
    private final SandboxId neighbour;
    private final HostState before;

    Siege(RuntimeKind runtime) throws IOException {
        this.runtime = runtime;
        machine = new TestMachine(runtime);
        canary = Files.createDirectory(machine.data().resolve("canary"));
        Files.writeString(canary.resolve("secret"), SECRET);
        hostile = create(Limits.DEFAULT).id();
        neighbour = create(Limits.DEFAULT).id();
        hostile().files().write("/attack", new ByteArrayInputStream(Weapons.attack()), 0755);
        before = HostState.now(machine.data());
    }

    RuntimeKind runtime() {
        return runtime;
    }

    TestMachine machine() {
        return machine;
    }

    /** Looked up each time, since a test may reopen the provider. */
    Sandbox hostile() {
        return machine.provider().find(hostile).orElseThrow();
    }

    Sandbox neighbour() {
        return machine.provider().find(neighbour).orElseThrow();
    }

    /** On the host. Inside there is nothing at this path. */
    Path canary() {
        return canary;
    }

    Sandbox create(Limits limits) {
        String id = "attack-" + ProcessHandle.current().pid() + "-" + counter.incrementAndGet();
        return machine.provider().create(SandboxSpec.of(id, "host").withLimits(limits));
    }

    /** Runs a line of shell in the hostile sandbox. */
    Result sh(String user, String line) {
        return hostile().run(weaponised(Command.shell(line), user));
    }

    Result python(String user, String program) {
        return hostile().run(weaponised(Command.of("python3", "-c", program), user));
    }

    Command weaponised(Command command, String user) {
        return command.withUser(user)
                .withCwd("/tmp")
                .withTimeout(PATIENCE)
                .withEnv(Map.of("BERTH_CANARY", canary.resolve("secret").toString()));
    }

    void assertCanaryUnharmed() throws IOException {
        assertThat(canary).isDirectoryNotContaining(file -> !file.endsWith("secret"));
        assertThat(canary.resolve("secret")).hasContent(SECRET);
        assertThat(Files.getPosixFilePermissions(canary.resolve("secret"))).hasSize(4);
        assertThat(Files.getAttribute(canary.resolve("secret"), "unix:uid")).isEqualTo(0);
    }

    /** The host's settings that attacks go for, and the rank of the sandbox's processes, are as they were before. */
    void assertHostUntouched() throws IOException {
        assertThat(HostState.now(machine.data())).isEqualTo(before);
        assertCanaryUnharmed();
    }

    void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static InputStream bytes(String text) {
        return new ByteArrayInputStream(text.getBytes(UTF_8));
    }

    static String text(InputStream stream) throws IOException {
        try (stream) {
            return new String(stream.readAllBytes(), UTF_8);
        }
    }

    @Override
    public void close() throws IOException {
        assertCanaryUnharmed();
        Files.delete(canary.resolve("secret"));
        Files.delete(canary);
        machine.close();
    }
}
