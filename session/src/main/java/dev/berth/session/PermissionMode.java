package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.util.Locale;

/** Which calls in a session a person has to allow first. The first is the strictest. */
public enum PermissionMode {
    /** Everything that writes or runs. */
    ASK,
    /** Everything that runs; files may be written. */
    EDIT,
    /** Nothing. */
    BYPASS;

    public static PermissionMode parse(String name) {
        for (PermissionMode mode : values()) {
            if (mode.toString().equals(name)) {
                return mode;
            }
        }
        throw SandboxException.invalid("there is no permission mode '" + name + "'; there are ask, edit and bypass");
    }

    public boolean asksToWrite() {
        return this == ASK;
    }

    public boolean asksToRun() {
        return this != BYPASS;
    }

    public PermissionMode stricter(PermissionMode other) {
        return compareTo(other) <= 0 ? this : other;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
