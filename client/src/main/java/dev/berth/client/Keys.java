package dev.berth.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Keys of a tenant: the caller's own, or for the operator the one that the client is for. */
public final class Keys {
    private final BerthClient berth;

    Keys(BerthClient berth) {
        this.berth = berth;
    }

    public List<ApiKey> list() {
        return berth.list(Call.get(path()), "keys", ApiKey::of);
    }

    /**
     * @param scopes what it may do: tools, sessions, configs, keys, approvals, secrets; all of them if this is empty
     * @param lifetime for ever if it is empty
     */
    public ApiKey.Made make(String name, List<String> scopes, Optional<Duration> lifetime) {
        return make(name, scopes, lifetime, KeyForm.BERTH);
    }

    /** The same, for clients that insist on how a key looks. */
    public ApiKey.Made make(String name, List<String> scopes, Optional<Duration> lifetime, KeyForm form) {
        Json body = Json.object()
                .with("name", name)
                .with("expires_in_seconds", lifetime.map(Duration::toSeconds))
                .with("form", form.wireName());
        return ApiKey.made(berth.json(Call.create(path(), scopes.isEmpty() ? body : body.with("scopes", scopes))));
    }

    /**
     * Makes another key like this one.
     *
     * @param overlap how long the old one goes on working; an hour if it is empty
     */
    public ApiKey.Made rotate(String id, Optional<Duration> overlap) {
        return rotate(id, overlap, KeyForm.BERTH);
    }

    /** The same, for clients that insist on how a key looks. */
    public ApiKey.Made rotate(String id, Optional<Duration> overlap, KeyForm form) {
        Json body = Json.object()
                .with("overlap_seconds", overlap.map(Duration::toSeconds))
                .with("form", form.wireName());
        return ApiKey.made(berth.json(Call.create(path() + "/" + Call.encode(id) + "/rotate", body)));
    }

    /** Ends a key. */
    public void revoke(String id) {
        berth.done(Call.delete(path() + "/" + Call.encode(id)));
    }

    private String path() {
        return berth.tenant().map(tenant -> Admin.tenantPath(tenant) + "/keys").orElse("/v1/keys");
    }
}
