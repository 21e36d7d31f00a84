package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.cgroup.Cgroup;
import dev.berth.sandbox.local.guest.GuestLink;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Boots a box: from a mounted root and a prepared cgroup to a guest that has connected. */
final class Launcher {
    private static final int PATIENCE_SECONDS = 30;
    /** The guest goes before what it supervises when the processors are contended; it takes little. */
    private static final String GUEST_NICENESS = "-10";

    private static final String OPEN_FILES = "65536";

    private static final String LAST_FOR_OOM_KILLER = "-999";

    private Launcher() {}

    /** Returns when the guest has said hello. What a failed boot leaves behind is the caller's to remove. */
    static void boot(
            Machine machine,
            OciRuntime runtime,
            Box box,
            Template template,
            Cgroup cgroup,
            GuestLink link,
            String token)
            throws IOException {
        box.newBootId();
        Bundle.write(box, machine.programs().guest(), runtime.kind(), template, token);
        Process process = new ProcessBuilder(command(machine, runtime, box, cgroup))
                .directory(box.bundle().toFile())
                .redirectInput(new java.io.File("/dev/null"))
                .redirectErrorStream(true)
                .redirectOutput(box.runtimeLog().toFile())
                .start();
        CompletableFuture<Void> failed = process.onExit()
                .thenCompose(ended -> ended.exitValue() == 0
                        ? new CompletableFuture<>()
                        : CompletableFuture.failedFuture(SandboxException.unavailable(
                                runtime.name() + " could not start the sandbox: " + lastWords(box.runtimeLog()))));
        try {
            CompletableFuture.anyOf(link.ready(), failed).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("could not start the sandbox", e);
        } catch (TimeoutException e) {
            process.destroyForcibly();
            throw new SandboxException(
                    dev.berth.sandbox.ErrorCode.TIMEOUT,
                    "the sandbox's guest did not connect within " + PATIENCE_SECONDS + " s: "
                            + lastWords(box.runtimeLog()),
                    e);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while starting a sandbox", e);
        }
    }

    private static List<String> command(Machine machine, OciRuntime runtime, Box box, Cgroup cgroup) {
        List<String> command = new ArrayList<>();
        command.add(machine.programs().launch().toString());
        for (Path directory : cgroup.directories()) {
            command.add("--cgroup");
            command.add(directory.toString());
        }
        machine.cgroups().hybridMount().ifPresent(hidden -> {
            command.add("--unmount");
            command.add(hidden.toString());
        });
        command.addAll(List.of("--nice", GUEST_NICENESS, "--open-files", OPEN_FILES, "--oom-score", LAST_FOR_OOM_KILLER, "--"));
        command.addAll(runtime.run(box.bundle(), box.runtimeState(), box.name()));
        return command;
    }

    private static String lastWords(Path log) {
        try {
            List<String> lines = Files.readString(log, StandardCharsets.ISO_8859_1)
                    .lines()
                    .filter(line -> !line.isBlank())
                    .toList();
            return lines.isEmpty() ? "it said nothing" : lines.getLast();
        } catch (IOException e) {
            return "its log could not be read";
        }
    }
}
