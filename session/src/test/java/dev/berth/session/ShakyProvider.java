package dev.berth.session;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxSpec;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A real provider that can be told to refuse everything, as one that is far away sometimes does. */
record ShakyProvider(SandboxProvider real, Switch mood) implements SandboxProvider {
    static final class Switch {
        private volatile @Nullable SandboxException refusal;

        void refuse(SandboxException why) {
            refusal = why;
        }

        void mend() {
            refusal = null;
        }

        private void check() {
            SandboxException why = refusal;
            if (why != null) {
                throw new SandboxException(why.code(), why.getMessage());
            }
        }
    }

    @Override
    public String name() {
        return real.name();
    }

    @Override
    public String location() {
        return real.location();
    }

    @Override
    public Set<Capability> capabilities() {
        return real.capabilities();
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        mood.check();
        return real.create(spec);
    }

    @Override
    public Optional<Sandbox> find(SandboxId id) {
        mood.check();
        return real.find(id);
    }

    @Override
    public List<Sandbox> list() {
        mood.check();
        return real.list();
    }

    @Override
    public List<Checkpoint> checkpoints() {
        mood.check();
        return real.checkpoints();
    }

    @Override
    public void outlet(dev.berth.sandbox.Outlet outlet) {
        real.outlet(outlet);
    }

    @Override
    public void deleteCheckpoint(CheckpointId id) {
        mood.check();
        real.deleteCheckpoint(id);
    }

    @Override
    public List<Change> changes(CheckpointId from, CheckpointId to) {
        mood.check();
        return real.changes(from, to);
    }

    @Override
    public void close() {
        real.close();
    }
}
