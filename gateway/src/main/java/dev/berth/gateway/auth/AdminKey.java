package dev.berth.gateway.auth;

import dev.berth.session.SessionKey;
import java.security.MessageDigest;
import java.util.Optional;

/** The operator's key, known by its hash alone. */
public final class AdminKey implements Authenticator {
    private final byte[] hash;

    public AdminKey(String key) {
        this.hash = ApiKeys.hash(key);
    }

    @Override
    public Optional<Caller> caller(String credential) {
        return MessageDigest.isEqual(ApiKeys.hash(credential), hash)
                ? Optional.of(new Caller("admin", SessionKey.DEFAULT_TENANT, true, Scope.ALL))
                : Optional.empty();
    }
}
