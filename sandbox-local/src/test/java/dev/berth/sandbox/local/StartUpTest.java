package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.TemplateSpec.Env;
import dev.berth.sandbox.TemplateSpec.FromTemplate;
import dev.berth.sandbox.TemplateSpec.Run;
import dev.berth.sandbox.TemplateSpec.Workdir;
import dev.berth.sandbox.local.linux.Directories;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a template starts, in sandboxes. Needs root and crun. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
final class StartUpTest {
    private final Path dir = directory();
    private final LocalConfig config =
            LocalConfig.of(dir).withTemplates(dir.resolve("templates")).withPoolBytes(1L << 30);
    private LocalProvider provider = LocalProvider.open(config);

    private static Path directory() {
        try {
            return Files.createTempDirectory(Path.of("/var/tmp"), "berth-start-up");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @AfterEach
    void remove() throws IOException {
        provider.list().forEach(Sandbox::destroy);
        provider.closeAndUnmount();
        Directories.remove(dir);
    }

    private void build(String name, String start, String ready) {
        var _ = provider.templates()
                .build(
                        new TemplateSpec(
                                name,
                                new FromTemplate("host"),
                                List.of(new Env(Map.of("WORD", "sesame")), new Workdir("/home/user/work")),
                                Optional.of(start),
                                Optional.of(ready),
                                OptionalInt.empty(),
                                ""),
                        event -> {});
    }

    private static String run(Sandbox sandbox, String command) {
        return sandbox.run(Command.of("/bin/bash", "-c", command)).stdout().strip();
    }

    @Test
    void whatWasStartedIsShownAsTheTemplateHasItAndIsAnotherOneAfterABoot() {
        build("shown", "sleep 4321", "true");
        Sandbox sandbox = provider.create(SandboxSpec.of("shown", "shown"));
        CommandInfo first = started(sandbox);
        assertThat(first.commandLine()).contains("sleep 4321").doesNotContain("exec");
        sandbox.stop();
        sandbox.wake();
        assertThat(started(sandbox).exit()).isEmpty();
        assertThat(sandbox.commands())
                .filteredOn(it -> it.tag().equals(CommandInfo.START))
                .hasSize(1);
    }

    private static CommandInfo started(Sandbox sandbox) {
        return sandbox.commands().stream()
                .filter(it -> it.tag().equals(CommandInfo.START))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void runsAtEachBootAndTheSandboxIsThereWhenItIsReady() {
        build(
                "served",
                "echo \"$(id -un) $PWD $WORD\"; echo and this >&2; sleep 1; echo >> /tmp/boots; touch /run/lock/x /tmp/up;"
                        + " exec sleep 1000",
                "[ -f /tmp/up ]");
        Sandbox sandbox = provider.create(SandboxSpec.of("one", "served"));

        assertThat(run(sandbox, "wc -l < /tmp/boots")).isEqualTo("1");
        assertThat(run(sandbox, "cat /var/log/berth-start.log")).startsWith("user /home/user/work sesame\nand this");

        run(sandbox, "rm /tmp/up");
        sandbox.stop();
        sandbox.wake();
        assertThat(run(sandbox, "wc -l < /tmp/boots")).isEqualTo("2");

        sandbox.pause();
        sandbox.wake();
        assertThat(run(sandbox, "wc -l < /tmp/boots")).isEqualTo("2");
    }

    @Test
    void whoeverWakesItWaitsUntilItIsReady() throws Exception {
        build("awaited", "sleep 2; touch /tmp/up; exec sleep 1000", "[ -f /tmp/up ]");
        Sandbox sandbox = provider.create(SandboxSpec.of("four", "awaited"));
        run(sandbox, "rm /tmp/up");
        sandbox.stop();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var woken = List.of(threads.submit(() -> woken(sandbox)), threads.submit(() -> woken(sandbox)));
            for (var each : woken) {
                assertThat(each.get()).isEqualTo("/tmp/up");
            }
        }
    }

    private static String woken(Sandbox sandbox) {
        sandbox.wake();
        return run(sandbox, "ls /tmp/up");
    }

    @Test
    void aPauseWhileSomeoneWaitsIsNoReasonForTheNextNotTo() throws Exception {
        build("paused", "sleep 4; touch /tmp/up; exec sleep 1000", "[ -f /tmp/up ]");
        Sandbox sandbox = provider.create(SandboxSpec.of("five", "paused"));
        run(sandbox, "rm /tmp/up");
        sandbox.stop();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var first = threads.submit(sandbox::wake);
            while (!sandbox.ready()
                    || sandbox.commands().stream()
                            .noneMatch(command -> command.tag().equals("start"))) {
                Thread.sleep(20);
            }
            sandbox.pause();
            assertThat(woken(sandbox)).isEqualTo("/tmp/up");
            first.get();
        }
    }

    @Test
    void isReadyInTheWarmPoolToo() throws InterruptedException {
        build("warmed", "sleep 1; touch /tmp/up; exec sleep 1000", "[ -f /tmp/up ]");
        provider.close();
        provider = LocalProvider.open(config.withWarm(Map.of("warmed", 1)));
        while (provider.warm("warmed") == 0) {
            Thread.sleep(20);
        }

        Sandbox sandbox = provider.create(SandboxSpec.of("two", "warmed"));

        assertThat(provider.measures()).containsEntry("warm.hits", 1.0);
        assertThat(run(sandbox, "ls /tmp/up")).isEqualTo("/tmp/up");
    }

    @Test
    void commandsOfABuildReachNothingOfThisMachineAndStayWithinBounds() throws IOException {
        List<String> lines = Collections.synchronizedList(new ArrayList<>());
        String own = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
                .map(InetAddress::getHostAddress)
                .findFirst()
                .orElseThrow();
        try (ServerSocket here = new ServerSocket(0)) {
            TemplateSpec spec = TemplateSpec.of(
                    "alone",
                    new FromTemplate("host"),
                    Run.of("for host in 169.254.209.1 " + own + "; do timeout 3 bash -c \"exec 3<>/dev/tcp/$host/"
                            + here.getLocalPort() + "\" 2>/dev/null && echo reached $host || echo safe; done"),
                    Run.of("grep -o eth0 /proc/net/dev"),
                    Run.of("grep -q nameserver /etc/resolv.conf && echo named"),
                    Run.of("(while true; do sleep 100 & done) 2>&1 | grep -m1 -o 'Resource temporarily unavailable'"));
            var _ = provider.templates().build(spec, event -> {
                if (event instanceof BuildEvent.StepOutput output) {
                    lines.add(output.line());
                }
            });
        }

        assertThat(lines).doesNotContain("reached 169.254.209.1", "reached " + own);
        assertThat(lines).contains("safe", "eth0", "named", "Resource temporarily unavailable");
        assertThat(Path.of("/sys/class/net").resolve("berth-" + LocalProvider.group(dir) + "b"))
                .doesNotExist();
    }

    @Test
    void aReadyCommandThatOnlySleepsMakesNobodyWait() {
        build("guessed", "exec sleep 1000", "sleep 25");

        long began = System.nanoTime();
        Sandbox sandbox = provider.create(SandboxSpec.of("three", "guessed"));

        assertThat(System.nanoTime() - began).isLessThan(TimeUnit.SECONDS.toNanos(25));
        assertThat(sandbox.ready()).isTrue();
    }
}
