package dev.berth.sandbox;

import java.util.List;
import java.util.Map;

/**
 * What to create.
 *
 * @param id the name it will have
 * @param origin what its files start as
 * @param limits what it may use
 * @param env variables for each of its commands, beneath the command's own
 * @param network what it may reach
 * @param labels the caller's notes, returned as they are
 * @param mounts volumes among its files
 */
public record SandboxSpec(
        SandboxId id,
        Origin origin,
        Limits limits,
        Network network,
        Map<String, String> env,
        Map<String, String> labels,
        List<Mount> mounts) {
    public SandboxSpec {
        mounts = Mount.checked(mounts);
        env = Map.copyOf(env);
        labels = Map.copyOf(labels);
        Command.checkEnv(env);
    }

    public SandboxSpec(
            SandboxId id,
            Origin origin,
            Limits limits,
            Network network,
            Map<String, String> env,
            Map<String, String> labels) {
        this(id, origin, limits, network, env, labels, List.of());
    }

    public static SandboxSpec of(String id, Origin origin) {
        return new SandboxSpec(new SandboxId(id), origin, Limits.DEFAULT, Network.NONE, Map.of(), Map.of());
    }

    public static SandboxSpec of(String id, String template) {
        return of(id, Origin.template(template));
    }

    public SandboxSpec withLimits(Limits newLimits) {
        return new SandboxSpec(id, origin, newLimits, network, env, labels, mounts);
    }

    public SandboxSpec withNetwork(Network newNetwork) {
        return new SandboxSpec(id, origin, limits, newNetwork, env, labels, mounts);
    }

    public SandboxSpec withEnv(Map<String, String> newEnv) {
        return new SandboxSpec(id, origin, limits, network, newEnv, labels, mounts);
    }

    public SandboxSpec withLabels(Map<String, String> newLabels) {
        return new SandboxSpec(id, origin, limits, network, env, newLabels, mounts);
    }

    public SandboxSpec withMounts(Mount... newMounts) {
        return new SandboxSpec(id, origin, limits, network, env, labels, List.of(newMounts));
    }
}
