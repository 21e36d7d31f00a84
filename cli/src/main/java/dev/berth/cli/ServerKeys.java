package dev.berth.cli;

import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.auth.Scope;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;

/** The keys that a server has from its first start on. One that is given goes before the one that is kept. */
final class ServerKeys {
    /** What keys are called that were made here. */
    private static final String UP = "berth up";

    private static final String E2B = "berth up, for E2B's clients";

    private final KeyFiles files;

    ServerKeys(KeyFiles files) {
        this.files = files;
    }

    /** The operator's. */
    String admin(Optional<String> given) {
        return keep(KeyFiles.ADMIN, given, ApiKeys.random());
    }

    /** What preview links are signed with. */
    String previewSecret(Optional<String> given) {
        return secret(KeyFiles.PREVIEW, given);
    }

    /** What tokens of E2B's sandboxes are made of. */
    String e2bSecret(Optional<String> given) {
        return secret(KeyFiles.E2B_TOKENS, given);
    }

    private String secret(String name, Optional<String> given) {
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        // A secret from a file of the operator's stays there.
        return given.orElseGet(() -> keep(name, Optional.empty(), HexFormat.of().formatHex(random)));
    }

    /** Another key of the tenant {@code default}, for E2B's clients; it works when this returns. */
    String e2b(ApiKeys keys) {
        String key = files.read(KeyFiles.E2B)
                .filter(kept -> works(kept, E2B, keys))
                .orElseGet(() -> ApiKeys.random(ApiKeys.Form.E2B));
        if (files.read(KeyFiles.E2B).filter(key::equals).isEmpty()) {
            works(key, E2B, keys);
            files.write(KeyFiles.E2B, key);
        }
        return key;
    }

    /**
     * The key of the tenant {@code default}, which works when this returns. The file comes last: a crash before that leaves
     * the old one there, and the next start does all of it again.
     */
    String api(Optional<String> given, ApiKeys keys) {
        Optional<String> kept = files.read(KeyFiles.API);
        String wanted = given.or(() -> kept).orElseGet(ApiKeys::random);
        if (!works(wanted, UP, keys)) {
            if (given.isPresent()) {
                throw SandboxException.conflict(
                        "the key in BERTH_API_KEY was revoked or has run out; choose another one, or unset it");
            }
            wanted = ApiKeys.random();
            works(wanted, UP, keys);
        }
        String key = wanted;
        kept.filter(old -> given.isPresent() && !old.equals(key)).ifPresent(keys::forget);
        if (kept.filter(key::equals).isEmpty()) {
            files.write(KeyFiles.API, key);
        }
        return key;
    }

    private static boolean works(String key, String name, ApiKeys keys) {
        return keys.put(SessionKey.DEFAULT_TENANT, name, key, Scope.ALL, Optional.empty())
                .works(Instant.now());
    }

    private String keep(String name, Optional<String> given, String random) {
        Optional<String> kept = files.read(name);
        String key = given.or(() -> kept).orElse(random);
        if (kept.filter(key::equals).isEmpty()) {
            files.write(name, key);
        }
        return key;
    }
}
