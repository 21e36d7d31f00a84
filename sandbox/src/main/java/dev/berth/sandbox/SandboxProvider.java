package dev.berth.sandbox;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Makes sandboxes and finds them again.
 *
 * <p>A sandbox belongs to the machine (or the service) it runs on, not to this object: closing the provider, or killing
 * the process it lives in, leaves every sandbox as it is.
 */
public interface SandboxProvider extends AutoCloseable {
    String name();

    /**
     * Where its sandboxes are. Two providers of one location see the same sandboxes; one of another location knows
     * nothing of them, and must not conclude that they are gone.
     */
    String location();

    Set<Capability> capabilities();

    /** Numbers of its own for operators to watch, by dotted names; always the same names. */
    default Map<String, Double> measures() {
        return Map.of();
    }

    /**
     * What its sandboxes start from.
     *
     * @throws SandboxException {@code unsupported} if templates are made elsewhere
     */
    default Templates templates() {
        throw SandboxException.unsupported("the provider " + name() + " does not tell or build its templates");
    }

    /** Where connections out of its sandboxes go from now on. Until this is said they wait, and are closed after a while. */
    void outlet(Outlet outlet);

    /**
     * Makes a sandbox and returns it running.
     *
     * @throws SandboxException {@code conflict} if one of that id exists, {@code not_found} for an unknown template or
     *     checkpoint, {@code unsupported} for a limit or a network that cannot be enforced here
     */
    Sandbox create(SandboxSpec spec);

    Optional<Sandbox> find(SandboxId id);

    List<Sandbox> list();

    /** @throws SandboxException {@code unsupported} where there are none */
    default Volumes volumes() {
        throw SandboxException.unsupported("the provider '" + name() + "' has no volumes");
    }

    /** All checkpoints, oldest first. They outlive the sandbox they were taken of. */
    List<Checkpoint> checkpoints();

    void deleteCheckpoint(CheckpointId id);

    /** What changed from one checkpoint to a later one. */
    List<Change> changes(CheckpointId from, CheckpointId to);

    /** Makes sandboxes that all start with the files that {@code source} has at one moment. */
    default List<Sandbox> fork(Sandbox source, List<SandboxId> targets) {
        SandboxInfo info = source.info();
        Checkpoint point = source.checkpoint("fork");
        try {
            List<Sandbox> forks = new ArrayList<>();
            try {
                for (SandboxId target : targets) {
                    forks.add(create(new SandboxSpec(
                            target,
                            Origin.checkpoint(point.id()),
                            info.limits(),
                            source.network(),
                            source.env(),
                            info.labels())));
                }
            } catch (SandboxException e) {
                forks.forEach(Sandbox::destroy);
                throw e;
            }
            return forks;
        } finally {
            deleteCheckpoint(point.id());
        }
    }

    @Override
    void close();
}
