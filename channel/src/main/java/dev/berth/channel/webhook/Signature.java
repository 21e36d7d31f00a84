package dev.berth.channel.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Proves that a body was sent by somebody with the secret, and when: HMAC-SHA256 over the time in seconds, a dot, and the
 * body, as {@code t=1712345678,v1=hex}.
 */
public final class Signature {
    public static final String HEADER = "Berth-Signature";

    private static final Pattern FORM = Pattern.compile("t=([0-9]{1,12}),v1=([0-9a-f]{64})");
    private static final Duration WINDOW = Duration.ofMinutes(5);
    private static final String ALGORITHM = "HmacSHA256";

    private Signature() {}

    public static String of(String secret, Instant at, byte[] body) {
        long seconds = at.getEpochSecond();
        return "t=" + seconds + ",v1=" + HexFormat.of().formatHex(sign(secret, seconds, body));
    }

    /** Whether it is one of this body, made a short while ago. */
    static boolean good(String secret, Instant now, String header, byte[] body) {
        Matcher form = FORM.matcher(header);
        if (!form.matches()) {
            return false;
        }
        long seconds = Long.parseLong(form.group(1));
        byte[] given = HexFormat.of().parseHex(form.group(2));
        boolean same = MessageDigest.isEqual(sign(secret, seconds, body), given);
        return same && Math.abs(now.getEpochSecond() - seconds) <= WINDOW.toSeconds();
    }

    private static byte[] sign(String secret, long seconds, byte[] body) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), ALGORITHM));
            mac.update((seconds + ".").getBytes(UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }
}
