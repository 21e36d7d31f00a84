package dev.berth.bench;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.linux.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;

/** A data directory of our own with a provider on it. Closing it leaves nothing on the machine. */
final class Site implements AutoCloseable {
    private final LocalConfig config;
    private LocalProvider provider;

    private Site(LocalConfig config) {
        this.config = config;
        this.provider = LocalProvider.open(config);
    }

    /** @param config what to open a data directory with */
    static Site open(Function<Path, LocalConfig> config) throws IOException {
        // Short, because the path of a socket is; and on a disk, which /tmp may not be.
        return new Site(config.apply(Files.createTempDirectory(Path.of("/var/tmp"), "berth-bench-")));
    }

    LocalProvider provider() {
        return provider;
    }

    Path data() {
        return config.data();
    }

    /** Where a sandbox's files are on this machine. */
    Path root(SandboxId id) throws IOException {
        Path box = Files.readSymbolicLink(data().resolve("ids").resolve(id.value()));
        return data().resolve("boxes").resolve(box).resolve("root");
    }

    /** As a restarted server does. */
    void reopen() {
        provider = LocalProvider.open(config);
    }

    @Override
    public void close() throws IOException {
        provider.list().forEach(Sandbox::destroy);
        provider.checkpoints().stream().map(Checkpoint::id).forEach(provider::deleteCheckpoint);
        provider.closeAndUnmount();
        Directories.remove(data());
    }
}
