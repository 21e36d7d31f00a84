package dev.berth.sandbox.local;

import dev.berth.sandbox.local.store.Store;
import java.io.IOException;

/** The disk limit of a sandbox: on what its tree holds, together with what that came with and the store does not count. */
final class DiskLimit {
    private final Store store;

    DiskLimit(Store store) {
        this.store = store;
    }

    /** A limit that the store cannot enforce is refused by it. */
    void apply(BoxRecord sandbox) throws IOException {
        long bytes = sandbox.limits().diskBytes();
        if (bytes != 0 || store.enforcesLimits()) {
            store.limit(sandbox.tree(), bytes == 0 ? 0 : Math.max(1, bytes - sandbox.inheritedBytes()));
        }
    }

    long used(BoxRecord sandbox) throws IOException {
        return store.used(sandbox.tree()) + sandbox.inheritedBytes();
    }

    /** Within a block or two of the limit: the write that failed has not been counted. */
    boolean full(BoxRecord sandbox) {
        long limit = sandbox.limits().diskBytes();
        if (limit == 0 || !store.enforcesLimits()) {
            return false;
        }
        try {
            return used(sandbox) >= limit - Math.min(limit / 50, 4 << 20);
        } catch (IOException e) {
            // Its tree goes with the sandbox, perhaps as the command ends.
            return false;
        }
    }
}
