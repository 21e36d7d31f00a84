package dev.berth.gateway.e2b;

import dev.berth.session.SessionKey;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** What opens a sandbox. They follow from the server's secret and the session, so nobody has to keep them. */
public final class Tokens {
    private final byte[] secret;

    public Tokens(byte[] secret) {
        this.secret = secret.clone();
    }

    /** For commands and files: {@code envdAccessToken}. */
    public String envd(SessionKey key) {
        return of("envd", key);
    }

    /** For the ports of a sandbox that is closed to the public: {@code trafficAccessToken}. */
    public String traffic(SessionKey key) {
        return of("traffic", key);
    }

    /** What is to prove that this server made a thing of that name. */
    public String of(String purpose, String name) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret, "HmacSHA256"));
            return HexFormat.of().formatHex(mac.doFinal((purpose + ":" + name).getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    private String of(String purpose, SessionKey key) {
        return of("e2b-" + purpose, key.toString());
    }

    /** Takes the same time whatever is wrong. */
    public static boolean same(String one, String other) {
        return MessageDigest.isEqual(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }
}
