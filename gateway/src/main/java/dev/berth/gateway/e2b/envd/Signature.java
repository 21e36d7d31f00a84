package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;

/**
 * What lets somebody without the token read or write one file: a hash over path, operation, user, token and perhaps the end of
 * its time, which only who has the token can make.
 *
 * @param expires in seconds since 1970, as it was written
 * @param value as it was given
 */
record Signature(String path, Operation operation, String user, Optional<String> expires, String value) {
    private static final String VERSION = "v1_";

    /** What is allowed by it. */
    enum Operation {
        READ,
        WRITE;

        String word() {
            return this == READ ? "read" : "write";
        }
    }

    /** The one that an address has, if it has one. */
    static Optional<Signature> of(Call call, Operation operation) {
        return call.query("signature")
                .map(value -> new Signature(
                        call.query("path").orElse(""),
                        operation,
                        call.query("username").orElse(""),
                        call.query("signature_expiration").filter(text -> !text.isEmpty()),
                        value));
    }

    /** What has been hashed before the token is, which is the same for all. */
    MessageDigest begin() {
        MessageDigest digest = sha256();
        digest.update((path + ":" + operation.word() + ":" + user + ":").getBytes(StandardCharsets.UTF_8));
        return digest;
    }

    /** Whether it was made with this token; takes the same time if it was not. */
    boolean madeWith(String token) {
        return madeWith(begin(), token);
    }

    /** As {@link #madeWith(String)}, from what {@link #begin} gave, which stays as it is. */
    boolean madeWith(MessageDigest begun, String token) {
        try {
            MessageDigest digest = (MessageDigest) begun.clone();
            String rest = token + expires.map(seconds -> ":" + seconds).orElse("");
            byte[] hash = digest.digest(rest.getBytes(StandardCharsets.UTF_8));
            String expected = VERSION + Base64.getEncoder().withoutPadding().encodeToString(hash);
            return MessageDigest.isEqual(
                    expected.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
        } catch (CloneNotSupportedException e) {
            throw new IllegalStateException("SHA-256 of the JDK can be cloned", e);
        }
    }

    /** Whether its time is over, or is none. */
    boolean expired(Instant now) {
        return expires.filter(
                        seconds -> !seconds.matches("[0-9]{1,15}") || Long.parseLong(seconds) < now.getEpochSecond())
                .isPresent();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
