package dev.berth.sandbox;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** The closed set of ways in which something can fail. Each surface (HTTP, CLI, …) maps these and nothing else. */
public enum ErrorCode {
    /** It was there and is not any more, for good. */
    GONE,
    /** It is not there. */
    NOT_FOUND,
    /** What was asked cannot be understood or makes no sense. */
    INVALID,
    /** It is there, but not for this caller. */
    DENIED,
    /** It is there already, or in a state in which this cannot be done. */
    CONFLICT,
    /** A limit of the sandbox, the tenant or the machine was reached. */
    LIMIT,
    /** It took longer than was allowed. */
    TIMEOUT,
    /** It should work and does not right now; trying again later may help. */
    UNAVAILABLE,
    /** This provider, runtime or machine cannot do it. */
    UNSUPPORTED;

    /** The one of a name on the wire. */
    public static Optional<ErrorCode> parse(String wireName) {
        return Arrays.stream(values())
                .filter(code -> code.wireName().equals(wireName))
                .findFirst();
    }

    /** The stable name on the wire, such as {@code not_found}. */
    public String wireName() {
        return name().toLowerCase(Locale.ROOT);
    }
}
