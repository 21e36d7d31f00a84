package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.LocalConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The composition root: the one place that knows which classes stand behind the interfaces. */
final class Wiring {
    private Wiring() {}

    static SandboxProvider provider(LocalConfig config) {
        requireRoot();
        throw SandboxException.unsupported("the local provider is not wired in yet: " + config);
    }

    static Templates templates(LocalConfig config) {
        requireRoot();
        throw SandboxException.unsupported("the templates are not wired in yet: " + config);
    }

    static boolean isRoot() {
        try {
            return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void requireRoot() {
        if (!isRoot()) {
            throw SandboxException.denied("sandboxes on this machine need root, for mounts, cgroups and user ids; "
                    + "run the same with sudo (inside, nothing runs as the machine's root)");
        }
    }
}
