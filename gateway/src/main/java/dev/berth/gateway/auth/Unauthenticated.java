package dev.berth.gateway.auth;

/** There is no credential, or none that is worth anything. What exactly is wrong with it is nobody's business. */
public final class Unauthenticated extends RuntimeException {
    public Unauthenticated() {
        super("send a key as 'Authorization: Bearer <key>' or 'X-API-Key: <key>'", null, false, false);
    }
}
