package dev.berth.gateway.auth;

import java.util.Optional;

/** Tells who has a credential. */
public interface Authenticator {
    /** Empty if it is not one of this kind, or not valid. */
    Optional<Caller> caller(String credential);

    /** One after the other; the first who knows it decides. */
    static Authenticator firstOf(Authenticator... kinds) {
        return credential -> {
            for (Authenticator kind : kinds) {
                Optional<Caller> caller = kind.caller(credential);
                if (caller.isPresent()) {
                    return caller;
                }
            }
            return Optional.empty();
        };
    }
}
