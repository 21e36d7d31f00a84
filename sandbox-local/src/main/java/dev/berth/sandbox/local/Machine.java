package dev.berth.sandbox.local;

import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.network.OpenNetwork;
import dev.berth.sandbox.local.store.Store;
import dev.berth.sandbox.local.template.TemplateStore;
import java.nio.file.Path;
import java.time.Clock;

/**
 * What every sandbox of one provider shares: the parts of this machine it stands on.
 *
 * @param data the data directory
 * @param programs the guest and the launcher, unpacked
 * @param network for sandboxes that reach the public internet
 * @param owners whose the files are that are written from outside
 */
record Machine(
        Path data,
        Store store,
        TemplateStore templates,
        Cgroups cgroups,
        OpenNetwork network,
        Programs programs,
        Owners owners,
        Clock clock) {

    Path boxes() {
        return data.resolve("boxes");
    }

    Path ids() {
        return data.resolve("ids");
    }

    Path checkpoints() {
        return data.resolve("checkpoints");
    }
}
