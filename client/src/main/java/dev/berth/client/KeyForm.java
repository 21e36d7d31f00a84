package dev.berth.client;

import java.util.Locale;
import java.util.Optional;

/** What the secret of a key looks like. */
public enum KeyForm {
    BERTH,
    /** As some of E2B's clients insist on it: {@code e2b_} and 40 hexadecimal digits. */
    E2B;

    /** How it is asked for; the usual one is not, as older servers know no other. */
    Optional<String> wireName() {
        return this == BERTH ? Optional.empty() : Optional.of(name().toLowerCase(Locale.ROOT));
    }
}
