package dev.berth.sandbox.local.store;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Chooses how trees are kept. */
public final class Stores {
    private static final Logger LOG = LoggerFactory.getLogger(Stores.class);

    private Stores() {}

    public static Store open(Path data, StoreKind kind, long poolBytes) throws IOException {
        Path pool = data.resolve("pool");
        if (kind == StoreKind.PLAIN) {
            return new PlainStore(data.resolve("trees"));
        }
        PoolFile file = new PoolFile(data.resolve("pool.btrfs"), pool);
        try (var _ = ProcessLock.acquire(data.resolve("pool.lock"))) {
            if (!Store.isBtrfs(data)) {
                file.mount(poolBytes);
            }
            return BtrfsStore.open(pool, file);
        } catch (SandboxException | IOException e) {
            // Once there is a pool, sandboxes live in it, and going on without would be losing them.
            if (kind == StoreKind.BTRFS || file.exists()) {
                throw e;
            }
            LOG.warn("no btrfs here, so checkpoints are copies and disk is not limited: {}", e.getMessage());
            return new PlainStore(data.resolve("trees"));
        }
    }
}
