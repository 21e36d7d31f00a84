package dev.berth.cli.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Optional;

/** What cannot be told of one setting alone. */
final class Together {
    private Together() {}

    static void check(Values values, Problems problems) {
        Optional<Path> keyStore = values.get(Settings.TLS_KEYSTORE);
        Optional<String> password = values.get(Settings.TLS_PASSWORD_FILE);
        if (keyStore.isPresent() != password.isPresent() && problems.none()) {
            problems.add("tls", "tls.keystore and tls.password-file go together; set both for HTTPS, or none");
        } else if (keyStore.isPresent() && password.isPresent()) {
            open(keyStore.get(), password.get(), problems);
        }
        if (values.get(Settings.OIDC_ISSUER).isPresent()
                != values.get(Settings.OIDC_JWKS).isPresent()) {
            problems.add("oidc", "oidc.issuer and oidc.jwks go together; set both to take an issuer's tokens, or none");
        }
        Optional<String> api = values.get(Settings.API_KEY);
        if (api.isPresent() && api.equals(values.get(Settings.ADMIN_KEY))) {
            problems.add(
                    "key", "key.api and key.admin are the same, so that everybody would be an operator; choose two");
        }
    }

    private static void open(Path keyStore, String password, Problems problems) {
        try (InputStream in = Files.newInputStream(keyStore)) {
            KeyStore.getInstance("PKCS12").load(in, password.toCharArray());
        } catch (IOException | GeneralSecurityException e) {
            problems.add(
                    "tls.keystore",
                    "could not open " + keyStore
                            + "; it has to be a PKCS#12 key store, and tls.password-file has to hold its password");
        }
    }
}
