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
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        // A secret from a file of the operator's stays there.
        return given.orElseGet(
                () -> keep(KeyFiles.PREVIEW, Optional.empty(), HexFormat.of().formatHex(random)));
    }

    /**
     * The key of the tenant {@code default}, which works when this returns. The file comes last: a crash before that leaves
     * the old one there, and the next start does all of it again.
     */
    String api(Optional<String> given, ApiKeys keys) {
        Optional<String> kept = files.read(KeyFiles.API);
        String wanted = given.or(() -> kept).orElseGet(ApiKeys::random);
        if (!works(wanted, keys)) {
            if (given.isPresent()) {
                throw SandboxException.conflict(
                        "the key in BERTH_API_KEY was revoked or has run out; choose another one, or unset it");
            }
            wanted = ApiKeys.random();
            works(wanted, keys);
        }
        String key = wanted;
        kept.filter(old -> given.isPresent() && !old.equals(key)).ifPresent(keys::forget);
        if (kept.filter(key::equals).isEmpty()) {
            files.write(KeyFiles.API, key);
        }
        return key;
    }

    private static boolean works(String key, ApiKeys keys) {
        return keys.put(SessionKey.DEFAULT_TENANT, "berth up", key, Scope.ALL, Optional.empty())
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
