package dev.berth.cli;

import dev.berth.client.BerthException;
import dev.berth.sandbox.ErrorCode;
import java.util.Arrays;

/**
 * What the process ends with. Where there is a custom it is kept: 2 for bad usage, 124 to 127 and 128+n as shells and
 * timeout(1) have them, the rest after sysexits.h. The numbers are in {@code berth --help} and docs; they do not change.
 */
final class ExitCodes {
    static final int INVALID = 2;
    /** A fault of ours. */
    static final int FAULT = 70;

    static final int TIMEOUT = 124;
    static final int NOT_EXECUTABLE = 126;
    static final int NO_SUCH_COMMAND = 127;
    static final int INTERRUPTED = signal(2);
    static final int BROKEN_PIPE = signal(13);

    private ExitCodes() {}

    static int of(ErrorCode code) {
        return switch (code) {
            case INVALID -> INVALID;
            case NOT_FOUND -> 66;
            case GONE -> 67;
            case UNAVAILABLE -> 69;
            case CONFLICT -> 73;
            case LIMIT -> 75;
            case DENIED -> 77;
            case UNSUPPORTED -> 78;
            case TIMEOUT -> TIMEOUT;
        };
    }

    /** What a server said: the same errors, and two that only HTTP has. */
    static int of(BerthException e) {
        if (e.is("unauthenticated")) {
            return of(ErrorCode.DENIED);
        }
        return Arrays.stream(ErrorCode.values())
                .filter(code -> e.is(code.wireName()))
                .findFirst()
                .map(ExitCodes::of)
                .orElse(FAULT);
    }

    /** When the program could not be executed at all. */
    static int ofStart(ErrorCode code) {
        return switch (code) {
            case NOT_FOUND -> NO_SUCH_COMMAND;
            case DENIED -> NOT_EXECUTABLE;
            default -> of(code);
        };
    }

    static int signal(int number) {
        return 128 + number;
    }
}
