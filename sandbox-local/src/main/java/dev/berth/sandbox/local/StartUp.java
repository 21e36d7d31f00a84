package dev.berth.sandbox.local;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.template.Template;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the start command of the template whenever a sandbox has booted, and waits for a while until it says that it is
 * ready. One that never does is a sandbox all the same: whoever asked for it finds in the log there why.
 */
final class StartUp {
    private static final Logger LOG = LoggerFactory.getLogger(StartUp.class);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration PAUSE = Duration.ofMillis(50);
    /** A guess of how long it takes says nothing of whether it is ready, and would make every start as long. */
    private static final Pattern GUESS = Pattern.compile("\\s*sleep\\s+[0-9.]+\\s*");
    /** The shell's own words would be lost if the log cannot be written; then it goes without one. */
    private static final String LOGGED = "if { : >>\"$0\"; } 2>/dev/null; then exec >>\"$0\" 2>&1; fi; exec \"$@\"";

    private final Sandbox sandbox;
    private final String name;
    private final Template template;
    /** Held by the one who asks whether it is ready; others who wait for the same take their turn after that. */
    private final ReentrantLock asking = new ReentrantLock();
    /** That of the last boot, completed when it is ready or was given up. */
    private volatile CompletableFuture<Void> settled = CompletableFuture.completedFuture(null);

    /** @param name for the log; one that waits in the warm pool has no id */
    StartUp(Sandbox sandbox, String name, Template template) {
        this.sandbox = sandbox;
        this.name = name;
        this.template = template;
    }

    /** Starts it; that is done once for each boot. */
    void begin() {
        if (template.start().isEmpty()) {
            return;
        }
        List<String> argv = new ArrayList<>(List.of("/bin/bash", "-c", LOGGED, Template.START_LOG));
        argv.addAll(template.start().get());
        sandbox.start(Command.of(argv).withTag(CommandInfo.START).whenFull(Command.WhenFull.DROP_OLDEST))
                .close();
        if (template.ready().filter(check -> !GUESS.matcher(check).matches()).isPresent()) {
            settled = new CompletableFuture<>();
        }
    }

    /** A command of the sandbox for those who look: what was started as the template has it, without our words around it. */
    CommandInfo shown(CommandInfo info) {
        return info.tag().equals(CommandInfo.START)
                ? template.start()
                        .map(words -> info.withCommandLine(String.join(" ", words)))
                        .orElse(info)
                : info;
    }

    /** It stands still from now on, and whoever waited may give up meanwhile: who wakes it next waits anew. */
    void pausing() {
        if (!settled.isDone()) {
            settled = new CompletableFuture<>();
        }
    }

    /** Waits for what the last boot has started, whoever else does. */
    void await() {
        CompletableFuture<Void> boot = settled;
        if (boot.isDone()) {
            return;
        }
        asking.lock();
        try {
            if (!boot.isDone() && settles(template.ready().orElseThrow())) {
                boot.complete(null);
            }
        } catch (SandboxException e) {
            // It was paused or stopped, and the next to wake it asks again.
            LOG.warn("sandbox {}: could not see whether it is ready: {}", name, e.getMessage());
        } finally {
            asking.unlock();
        }
    }

    /** Whether it is ready, or has had its time; not so if this thread was told to stop waiting. */
    private boolean settles(String check) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!ready(check, Duration.ofNanos(deadline - System.nanoTime()))) {
            LockSupport.parkNanos(PAUSE.toNanos());
            if (Thread.currentThread().isInterrupted()) {
                return false;
            }
            if (System.nanoTime() > deadline) {
                LOG.warn(
                        "sandbox {}: what template {} starts is not ready after {} s; see {} in it",
                        name,
                        template.id(),
                        PATIENCE.toSeconds(),
                        Template.START_LOG);
                return true;
            }
        }
        return true;
    }

    private boolean ready(String check, Duration left) {
        Duration most = left.compareTo(PAUSE) < 0 ? PAUSE : left;
        Command command =
                Command.of(List.of("/bin/bash", "-c", check)).withTimeout(most).whenFull(Command.WhenFull.DROP_OLDEST);
        try (RunningCommand running = sandbox.start(command)) {
            return running.await().code() == 0;
        }
    }
}
