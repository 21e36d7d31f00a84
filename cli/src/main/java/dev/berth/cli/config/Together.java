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
        agents(values, problems);
        Optional<String> api = values.get(Settings.API_KEY);
        if (api.isPresent() && api.equals(values.get(Settings.ADMIN_KEY))) {
            problems.add(
                    "key", "key.api and key.admin are the same, so that everybody would be an operator; choose two");
        }
    }

    private static void agents(Values values, Problems problems) {
        Optional<String> provider = values.get(Settings.AGENT_MODEL_PROVIDER);
        boolean model =
                provider.isPresent() && values.get(Settings.AGENT_MODEL_NAME).isPresent();
        boolean any = provider.isPresent()
                || values.get(Settings.AGENT_MODEL_NAME).isPresent()
                || values.get(Settings.AGENT_MODEL_URL).isPresent()
                || values.get(Settings.AGENT_MODEL_SECRET).isPresent();
        boolean reached = values.get(Settings.AGENT_MODEL_URL).isPresent()
                || values.get(Settings.AGENT_MODEL_SECRET).isPresent();
        if (any && !(model && reached)) {
            problems.add(
                    "agent.model",
                    "agent.model.provider and agent.model.name go together, with agent.model.url, agent.model.secret or"
                            + " both, by which the model is reached; set them, or none");
        }
        if (values.get(Settings.AGENT_CHAT_URL).isPresent()
                != values.get(Settings.AGENT_CHAT_MODEL).isPresent()) {
            problems.add("agent.chat", "agent.chat.url and agent.chat.model go together; set both, or none");
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
