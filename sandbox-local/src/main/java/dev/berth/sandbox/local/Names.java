package dev.berth.sandbox.local;

import java.security.SecureRandom;

/** Names and tokens nobody can guess. */
final class Names {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

    private Names() {}

    /** A prefix and 12 random characters: 60 bits. */
    static String random(String prefix) {
        return prefix + characters(12);
    }

    /** A secret of 160 bits. */
    static String token() {
        return characters(32);
    }

    private static String characters(int count) {
        StringBuilder name = new StringBuilder();
        byte[] bytes = new byte[count];
        RANDOM.nextBytes(bytes);
        for (byte b : bytes) {
            name.append(ALPHABET.charAt(b & 31));
        }
        return name.toString();
    }
}
