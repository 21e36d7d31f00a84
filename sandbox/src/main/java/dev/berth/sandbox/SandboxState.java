package dev.berth.sandbox;

/** Where a sandbox is in its life. */
public enum SandboxState {
    /** Its processes run. */
    RUNNING,
    /** Its processes are frozen, memory and files are kept. */
    PAUSED,
    /** It has no processes; its files are kept. */
    STOPPED,
    /** It is no more. */
    DESTROYED
}
