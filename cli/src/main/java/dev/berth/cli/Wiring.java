package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.template.TemplateStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The composition root: here, and in {@link Server}, the parts of the product are made and put together. */
final class Wiring {
    private Wiring() {}

    static LocalProvider provider(LocalConfig config) {
        requireRoot();
        return LocalProvider.open(config);
    }

    static TemplateStore templates(LocalConfig config) {
        requireRoot();
        return new TemplateStore(config.templates());
    }

    static boolean isRoot() {
        try {
            return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void requireRoot() {
        if (!isRoot()) {
            throw SandboxException.denied("sandboxes on this machine need root, for mounts, cgroups and user ids; "
                    + "run the same with sudo (inside, nothing runs as the machine's root)");
        }
    }
}
