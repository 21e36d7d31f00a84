package dev.berth.sandbox.local;

import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxId;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * What has to be remembered of a sandbox because the machine cannot tell. Its state is not here: that is asked of the
 * machine.
 *
 * @param id empty while it waits in the warm pool
 * @param tree the tree of the store that its root is made of; a rollback gives it another
 * @param inheritedBytes what its tree shares with the one it was copied from, where the store does not count that
 * @param mounts volumes among its files
 * @param ephemeral whether it goes with the process that made it
 */
record BoxRecord(
        Optional<String> id,
        String template,
        String runtime,
        Limits limits,
        Network network,
        Map<String, String> env,
        Map<String, String> labels,
        String tree,
        long inheritedBytes,
        Optional<String> parent,
        boolean ephemeral,
        String token,
        Instant createdAt,
        List<Mount> mounts) {

    BoxRecord {
        // Records of before there were networks and volumes have none.
        network = Objects.requireNonNullElse(network, Network.NONE);
        mounts = List.copyOf(Objects.requireNonNullElse(mounts, List.of()));
    }

    SandboxId sandboxId() {
        return new SandboxId(id.orElseThrow());
    }

    Optional<CheckpointId> parentId() {
        return parent.map(CheckpointId::new);
    }

    BoxRecord withLimits(Limits newLimits) {
        return new BoxRecord(
                id,
                template,
                runtime,
                newLimits,
                network,
                env,
                labels,
                tree,
                inheritedBytes,
                parent,
                ephemeral,
                token,
                createdAt,
                mounts);
    }

    BoxRecord withNetwork(Network newNetwork) {
        return new BoxRecord(
                id,
                template,
                runtime,
                limits,
                newNetwork,
                env,
                labels,
                tree,
                inheritedBytes,
                parent,
                ephemeral,
                token,
                createdAt,
                mounts);
    }

    BoxRecord withEnv(Map<String, String> newEnv) {
        return new BoxRecord(
                id,
                template,
                runtime,
                limits,
                network,
                newEnv,
                labels,
                tree,
                inheritedBytes,
                parent,
                ephemeral,
                token,
                createdAt,
                mounts);
    }

    BoxRecord withParent(CheckpointId newParent) {
        return new BoxRecord(
                id,
                template,
                runtime,
                limits,
                network,
                env,
                labels,
                tree,
                inheritedBytes,
                Optional.of(newParent.value()),
                ephemeral,
                token,
                createdAt,
                mounts);
    }

    BoxRecord withTree(String newTree, long newInheritedBytes) {
        return new BoxRecord(
                id,
                template,
                runtime,
                limits,
                network,
                env,
                labels,
                newTree,
                newInheritedBytes,
                parent,
                ephemeral,
                token,
                createdAt,
                mounts);
    }

    BoxRecord claimed(
            SandboxId newId,
            Limits newLimits,
            Network newNetwork,
            Map<String, String> newEnv,
            Map<String, String> newLabels,
            boolean goesWithProcess,
            Instant now) {
        return new BoxRecord(
                Optional.of(newId.value()),
                template,
                runtime,
                newLimits,
                newNetwork,
                newEnv,
                newLabels,
                tree,
                inheritedBytes,
                parent,
                goesWithProcess,
                token,
                now,
                mounts);
    }
}
