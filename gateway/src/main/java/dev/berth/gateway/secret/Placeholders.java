package dev.berth.gateway.secret;

import dev.berth.session.SessionKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What stands for a secret in a session: always the same there, another one in every other session, and nothing that
 * anybody could guess.
 */
final class Placeholders {
    private static final String ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
    private static final int LENGTH = 32;
    private static final int BITS = 5;

    private final byte[] key;

    Placeholders(byte[] key) {
        this.key = key.clone();
    }

    String of(SessionKey session, String secret, String prefix) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            Stream.of(session.tenant(), session.id(), secret)
                    .map(text -> text.getBytes(StandardCharsets.UTF_8))
                    .forEach(bytes -> {
                        // With its length, so that no two sets of names are the same bytes.
                        mac.update(ByteBuffer.allocate(4).putInt(0, bytes.length));
                        mac.update(bytes);
                    });
            return prefix + "berth-" + secret + "-" + base32(mac.doFinal());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HMAC-SHA-256", e);
        }
    }

    /** As RFC 4648 has it, in lower case. */
    private static String base32(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (int bit = 0; text.length() < LENGTH; bit += BITS) {
            int two = (bytes[bit / 8] & 0xff) << 8 | (bytes[bit / 8 + 1] & 0xff);
            text.append(ALPHABET.charAt(two >> (16 - BITS - bit % 8) & (1 << BITS) - 1));
        }
        return text.toString();
    }
}
