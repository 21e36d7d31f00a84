package dev.berth.sandbox.local.network;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A program of the machine that takes its orders on stdin, as nft(8) does. */
final class HostCommand {
    private static final List<String> PATH =
            List.of("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");
    private static final long PATIENCE_SECONDS = 30;

    private HostCommand() {}

    /** What a program wrote, both streams as one, and whether it succeeded. */
    record Output(String program, int status, String text) {
        boolean ok() {
            return status == 0;
        }

        String orThrow() throws IOException {
            if (!ok()) {
                throw new IOException(program + " ended with status " + status + ": "
                        + text.strip().replace("\n", " / "));
            }
            return text;
        }
    }

    static Output run(List<String> argv, String orders) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(argv).redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", String.join(":", PATH), "LC_ALL", "C"));
        Process process = builder.start();
        try {
            var _ = process.onExit()
                    .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .whenComplete((ended, late) -> {
                        if (late != null) {
                            process.destroyForcibly();
                        }
                    });
            // It reads all it is told before it says much, so neither pipe can be full for ever.
            try (var stdin = process.getOutputStream()) {
                stdin.write(orders.getBytes(StandardCharsets.US_ASCII));
            }
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Output(argv.getFirst(), process.waitFor(), text);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while running " + argv.getFirst(), e);
        } finally {
            process.destroyForcibly();
        }
    }

    static boolean installed(String program) {
        return PATH.stream().anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
    }
}
