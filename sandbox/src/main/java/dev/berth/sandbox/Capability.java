package dev.berth.sandbox;

/** What a provider may or may not be able to do. What it lacks it refuses; it never pretends. */
public enum Capability {
    /** Pausing keeps processes and memory. */
    PAUSE,
    /** Checkpoints, rollback and fork. */
    CHECKPOINT,
    /** Packing the files of a sandbox, and making one from them. */
    ARCHIVE,
    /** Telling what changed between two points. */
    CHANGES,
    /** A hard limit on disk. */
    DISK_LIMIT,
    /** A hard limit on memory that ends a process, not the sandbox. */
    MEMORY_LIMIT,
    /** Reporting that a process was ended by the memory limit. */
    MEMORY_LIMIT_REPORTED,
    /** A hard limit on processes that fails the next fork, not the sandbox. */
    PIDS_LIMIT,
    /** Changing limits of a running sandbox. */
    LIVE_LIMITS,
    /** Terminals. */
    PTY,
    /** Keys typed into a terminal send signals, as Ctrl-C does. */
    PTY_SIGNALS,
    /** A {@code /proc/sys/kernel/random/boot_id} of the sandbox's own, another after each stop and wake. */
    BOOT_ID,
    /** A process that has children can leave them for a session of its own, see setsid(2). */
    SESSIONS,
    /** Programs see the extended attributes that are set from outside, and those they set are seen there. */
    ATTRIBUTES,
    /** Watching directories. */
    WATCH,
    /** Connecting to a port inside. */
    DIAL,
    /** A network of mode {@code restricted}: connections to a port inside come out at the {@link Outlet}. */
    OUTLET,
    /** A network of mode {@code open}, closed to everything that is not public. */
    OPEN_NETWORK,
    /** {@link Volumes}, mounted into several sandboxes at once. */
    VOLUMES,
    /** Processes go on, and can be attached to again, when the server goes away. */
    REATTACH
}
