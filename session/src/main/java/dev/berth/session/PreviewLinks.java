package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Base64;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Links by which one port of a session is reached without a credential, for a while. A link is signed with a secret of the
 * installation, so any server can tell its own, and none has to be written down. It is over with its session: another one
 * under the same key was made at another time, and that is signed too.
 */
public final class PreviewLinks {
    private static final String KIND = "preview link";
    private static final int MOST = 2048;

    /**
     * What a link is good for.
     *
     * @param wake whether a session that is paused is woken for it
     */
    public record Link(SessionKey key, int port, boolean wake, Instant expiresAt) {}

    private final SecretKeySpec secret;
    private final InstantSource clock;
    private final Sessions sessions;

    PreviewLinks(byte[] secret, InstantSource clock, Sessions sessions) {
        this.secret = new SecretKeySpec(secret, "HmacSHA256");
        this.clock = clock;
        this.sessions = sessions;
    }

    /** The token of a link, for an address. The session has to be there. */
    public String token(Link link) {
        SessionInfo info = sessions.find(link.key())
                .orElseThrow(() -> SandboxException.notFound("there is no session " + link.key()));
        String payload = String.join(
                "\n",
                link.key().tenant(),
                link.key().id(),
                Integer.toString(link.port()),
                Boolean.toString(link.wake()),
                Long.toString(link.expiresAt().getEpochSecond()));
        return encode(payload.getBytes(StandardCharsets.UTF_8)) + "." + encode(sign(payload, info));
    }

    /** What a token opens; empty if it is forged, has run out, or its session is gone. */
    public Optional<Link> open(String token) {
        int dot = token.indexOf('.');
        if (dot < 0 || token.length() > MOST) {
            return Optional.empty();
        }
        try {
            String payload = new String(decode(token.substring(0, dot)), StandardCharsets.UTF_8);
            byte[] signature = decode(token.substring(dot + 1));
            String[] parts = payload.split("\n", -1);
            if (parts.length != 5) {
                return Optional.empty();
            }
            Link link = new Link(
                    SessionKey.of(parts[0], parts[1]),
                    Integer.parseInt(parts[2]),
                    Boolean.parseBoolean(parts[3]),
                    Instant.ofEpochSecond(Long.parseLong(parts[4])));
            return sessions.find(link.key())
                    .filter(info -> info.state() != SessionState.DESTROYED)
                    .filter(info -> MessageDigest.isEqual(signature, sign(payload, info)))
                    .filter(_ -> link.expiresAt().isAfter(clock.instant()))
                    .map(_ -> link);
        } catch (IllegalArgumentException | java.time.DateTimeException | SandboxException e) {
            return Optional.empty(); // not one of ours; what is wrong with it is nobody's business
        }
    }

    private byte[] sign(String payload, SessionInfo info) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(secret);
            String signed = KIND + "\n" + payload + "\n" + info.times().createdAt();
            return mac.doFinal(signed.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    private static String encode(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] decode(String text) {
        return Base64.getUrlDecoder().decode(text);
    }
}
