package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.sandbox.local.template.BuildConfig;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What the local provider is told at its start.
 *
 * @param data where sandboxes and checkpoints live
 * @param templates where templates live; may be shared by several data directories
 * @param runtime what isolates sandboxes
 * @param store how files are kept
 * @param poolBytes size of the btrfs pool file if one has to be made, 0 for a share of the free disk
 * @param warm how many sandboxes to keep ready, by template
 * @param network for sandboxes that reach the public internet
 * @param builds how templates are built that somebody asks for by the API
 */
public record LocalConfig(
        Path data,
        Path templates,
        RuntimeKind runtime,
        StoreKind store,
        long poolBytes,
        Map<String, Integer> warm,
        NetworkConfig network,
        BuildConfig builds) {

    /** The OCI runtimes. */
    public enum RuntimeKind {
        CRUN,
        RUNC,
        RUNSC
    }

    public LocalConfig {
        warm = Map.copyOf(warm);
        if (!data.isAbsolute() || !templates.isAbsolute()) {
            throw SandboxException.invalid("the data and templates directories have to be absolute paths");
        }
        if (poolBytes < 0 || warm.values().stream().anyMatch(n -> n < 0 || n > 1000)) {
            throw SandboxException.invalid("the pool size cannot be negative, and a warm pool has 0 to 1000 sandboxes");
        }
    }

    public static LocalConfig of(Path data) {
        return new LocalConfig(
                data,
                data.resolve("templates"),
                RuntimeKind.CRUN,
                StoreKind.AUTO,
                0,
                Map.of(),
                NetworkConfig.DEFAULT,
                BuildConfig.DEFAULT);
    }

    /** The defaults with what {@code BERTH_DATA} and {@code BERTH_TEMPLATES} say. */
    public static LocalConfig fromEnvironment(Map<String, String> env) {
        Path data = Path.of(env.getOrDefault("BERTH_DATA", "/var/lib/berth")).toAbsolutePath();
        LocalConfig config = of(data);
        return Optional.ofNullable(env.get("BERTH_TEMPLATES"))
                .map(dir -> config.withTemplates(Path.of(dir).toAbsolutePath()))
                .orElse(config);
    }

    public LocalConfig withTemplates(Path directory) {
        return new LocalConfig(data, directory, runtime, store, poolBytes, warm, network, builds);
    }

    public LocalConfig withRuntime(RuntimeKind kind) {
        return new LocalConfig(data, templates, kind, store, poolBytes, warm, network, builds);
    }

    public LocalConfig withStore(StoreKind kind) {
        return new LocalConfig(data, templates, runtime, kind, poolBytes, warm, network, builds);
    }

    public LocalConfig withPoolBytes(long bytes) {
        return new LocalConfig(data, templates, runtime, store, bytes, warm, network, builds);
    }

    public LocalConfig withWarm(Map<String, Integer> counts) {
        return new LocalConfig(data, templates, runtime, store, poolBytes, counts, network, builds);
    }

    public LocalConfig withNetwork(NetworkConfig newNetwork) {
        return new LocalConfig(data, templates, runtime, store, poolBytes, warm, newNetwork, builds);
    }

    public LocalConfig withBuilds(BuildConfig config) {
        return new LocalConfig(data, templates, runtime, store, poolBytes, warm, network, config);
    }
}
