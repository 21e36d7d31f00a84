package dev.berth.sandbox.local.files;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The hidden names under which files are written before they are put in place. They tell a watch, which leaves them out,
 * whether what is put in place is new.
 */
final class TemporaryName {
    private static final String NEW = ".berth-new-";
    private static final String REPLACEMENT = ".berth-put-";

    private TemporaryName() {}

    static byte[] of(boolean replacement) {
        String random = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        return ((replacement ? REPLACEMENT : NEW) + random).getBytes(StandardCharsets.US_ASCII);
    }

    static boolean matches(String name) {
        return name.startsWith(NEW) || name.startsWith(REPLACEMENT);
    }

    static boolean isReplacement(String name) {
        return name.startsWith(REPLACEMENT);
    }
}
