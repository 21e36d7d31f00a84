package dev.berth.session;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The tokens by which a session's ports are reached from outside. A token follows from the session, the time it runs out
 * and a secret of the installation, so any server can tell it again, and none has to be written down.
 */
final class PreviewTokens {
    static final Duration VALID = Duration.ofHours(24);

    private final SecretKeySpec secret;

    PreviewTokens(byte[] secret) {
        this.secret = new SecretKeySpec(secret, "HmacSHA256");
    }

    String token(SessionKey key, Instant expiresAt) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(secret);
            byte[] bytes = mac.doFinal((key + " " + expiresAt.getEpochSecond()).getBytes(StandardCharsets.UTF_8));
            return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    boolean opens(String token, SessionKey key, Instant expiresAt) {
        return expiresAt.isAfter(Instant.now())
                && MessageDigest.isEqual(
                        token.getBytes(StandardCharsets.UTF_8),
                        token(key, expiresAt).getBytes(StandardCharsets.UTF_8));
    }

    /** A new one into a session's row. */
    RowChange renew(SessionKey key, RowChange change) {
        Instant expiresAt = Instant.now().plus(VALID).truncatedTo(ChronoUnit.SECONDS);
        return change.set("preview_token_hash", hash(token(key, expiresAt))).set("preview_expires_at", expiresAt);
    }

    static String hash(String token) {
        return HexFormat.of().formatHex(Sha256.of(token));
    }
}
