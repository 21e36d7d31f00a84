package dev.berth.gateway.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signatures of the Standard Webhooks specification. */
final class Signature {
    static final String SECRET_PREFIX = "whsec_";

    private Signature() {}

    /** Over the id, the time in seconds and the body, with dots between. */
    static String of(String secret, String id, long seconds, String body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            byte[] key = Base64.getDecoder().decode(secret.substring(SECRET_PREFIX.length()));
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            byte[] signed = mac.doFinal((id + "." + seconds + "." + body).getBytes(UTF_8));
            return "v1," + Base64.getEncoder().encodeToString(signed);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }
}
