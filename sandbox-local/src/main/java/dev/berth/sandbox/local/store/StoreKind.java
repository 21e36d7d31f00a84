package dev.berth.sandbox.local.store;

/** How the files of sandboxes are kept. */
public enum StoreKind {
    /** btrfs if it can be had, else plain directories. */
    AUTO,
    BTRFS,
    PLAIN
}
