package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.cgroup.Cgroup;
import dev.berth.sandbox.local.guest.GuestLink;
import dev.berth.sandbox.local.linux.Spawn;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
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

    /** Something to do while the runtime works. */
    interface Work {
        void run() throws IOException;
    }

    /** Returns when the guest has said hello. What a failed boot leaves behind is the caller's to remove. */
    static void boot(
            Machine machine,
            OciRuntime runtime,
            Box box,
            Template template,
            Cgroup cgroup,
            GuestLink link,
            String token,
            Work meanwhile)
            throws IOException {
        box.newBootId();
        Bundle.write(
                box, machine.programs(), runtime, template, machine.cgroups().path(box.name()), token);
        Spawn launch = Spawn.of(command(machine, runtime, box, cgroup));
        CompletableFuture<Void> failed = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("runtime-" + box.name()).start(() -> {
            if (Spawn.waitFor(launch.start()) != 0) {
                failed.completeExceptionally(SandboxException.unavailable(
                        runtime.name() + " could not start the sandbox: " + lastWords(box.runtimeLog())));
            }
        });
        try {
            meanwhile.run();
            CompletableFuture.anyOf(link.ready(), failed).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("could not start the sandbox", e);
        } catch (TimeoutException e) {
            throw new SandboxException(
                    dev.berth.sandbox.ErrorCode.TIMEOUT,
                    "the sandbox's guest did not connect within " + PATIENCE_SECONDS + " s: "
                            + lastWords(box.runtimeLog()),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while starting a sandbox", e);
        }
    }

    private static List<String> command(Machine machine, OciRuntime runtime, Box box, Cgroup cgroup)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(machine.programs().launch().toString());
        // runc enters the cgroup by itself, and may refuse one that is not empty.
        List<Path> entered = runtime.managesCgroups() ? List.of() : cgroup.directories();
        for (Path directory : entered) {
            command.add("--cgroup");
            command.add(directory.toString());
        }
        Collection<Path> hidden = runtime.managesCgroups()
                ? machine.cgroups().foreignMounts()
                : machine.cgroups().hybridMount().stream().toList();
        for (Path mount : hidden) {
            command.add("--unmount");
            command.add(mount.toString());
        }
        command.addAll(List.of(
                "--log",
                box.runtimeLog().toString(),
                "--nice",
                GUEST_NICENESS,
                "--open-files",
                OPEN_FILES,
                "--oom-score",
                LAST_FOR_OOM_KILLER,
                "--"));
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
