package dev.berth.sandbox;

import java.util.Set;

/**
 * How a command ended.
 *
 * @param code the exit code, or 128 + the signal as shells count it
 * @param signal the signal that ended it, 0 for none
 * @param timedOut whether its timeout ended it
 * @param limitsHit the limits that it, or something beside it in the sandbox, ran into meanwhile
 */
public record Exit(int code, int signal, boolean timedOut, Set<Limit> limitsHit) {
    public Exit {
        limitsHit = Set.copyOf(limitsHit);
    }

    public static Exit exited(int code) {
        return new Exit(code, 0, false, Set.of());
    }

    public static Exit signalled(int signal, boolean timedOut) {
        return new Exit(128 + signal, signal, timedOut, Set.of());
    }

    public Exit withLimitsHit(Set<Limit> limits) {
        return new Exit(code, signal, timedOut, limits);
    }

    public boolean success() {
        return code == 0;
    }
}
