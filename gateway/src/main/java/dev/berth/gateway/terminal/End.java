package dev.berth.gateway.terminal;

import dev.berth.sandbox.SandboxException;

/** How a terminal came to its end. */
public sealed interface End {
    /** Its shell ended. */
    record Exited(int code) implements End {}

    /** Its sandbox was stopped or removed, or cannot be reached. */
    record Lost(SandboxException why) implements End {}
}
