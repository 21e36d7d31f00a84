package dev.berth.gateway.auth;

import dev.berth.sandbox.SandboxException;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** What a key may be used for. */
public enum Scope {
    /** Calling tools, which makes sessions where there are none. */
    TOOLS,
    /** Looking at sessions and deleting them. */
    SESSIONS,
    /** Named sandbox configurations and skills. */
    CONFIGS,
    /** Making and revoking keys of the same tenant. */
    KEYS,
    /** Allowing calls that a person has to allow. Whoever makes such calls should not have it. */
    APPROVALS,
    /** Secrets: setting them, and where they may go. Whoever makes sessions only names them, and need not have it. */
    SECRETS;

    public static final Set<Scope> ALL = EnumSet.allOf(Scope.class);

    public static Scope parse(String name) {
        return Arrays.stream(values())
                .filter(scope -> scope.toString().equals(name))
                .findFirst()
                .orElseThrow(() -> SandboxException.invalid("there is no scope '" + name + "'; there are " + ALL));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
