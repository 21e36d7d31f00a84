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
        keyStore("tls", values.get(Settings.TLS_KEYSTORE), values.get(Settings.TLS_PASSWORD_FILE), problems);
        keyStore(
                "e2b.tls", values.get(Settings.E2B_TLS_KEYSTORE), values.get(Settings.E2B_TLS_PASSWORD_FILE), problems);
        if (values.get(Settings.E2B)
                && values.get(Settings.PORT) != 0
                && values.get(Settings.E2B_PORT).equals(Optional.of(values.get(Settings.PORT)))) {
            problems.add("e2b.port", "it is the port of the API too; choose another one, or leave it to the server");
        }
        if (values.get(Settings.OIDC_ISSUER).isPresent()
                != values.get(Settings.OIDC_JWKS).isPresent()) {
            problems.add("oidc", "oidc.issuer and oidc.jwks go together; set both to take an issuer's tokens, or none");
        }
        agents(values, problems);
        channels(new ServerSettings(values), problems);
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

    private static void channels(ServerSettings settings, Problems problems) {
        try {
            var _ = settings.slack();
        } catch (IllegalArgumentException e) {
            problems.add("slack", String.valueOf(e.getMessage()));
        }
        try {
            var _ = settings.hook();
        } catch (IllegalArgumentException e) {
            problems.add("channel.webhook", String.valueOf(e.getMessage()));
        }
    }

    private static void keyStore(String name, Optional<Path> keyStore, Optional<String> password, Problems problems) {
        if (keyStore.isPresent() != password.isPresent() && problems.none()) {
            problems.add(
                    name, name + ".keystore and " + name + ".password-file go together; set both for HTTPS, or none");
        } else if (keyStore.isPresent() && password.isPresent()) {
            open(name, keyStore.get(), password.get(), problems);
        }
    }

    private static void open(String name, Path keyStore, String password, Problems problems) {
        try (InputStream in = Files.newInputStream(keyStore)) {
            KeyStore.getInstance("PKCS12").load(in, password.toCharArray());
        } catch (IOException | GeneralSecurityException e) {
            problems.add(
                    name + ".keystore",
                    "could not open " + keyStore + "; it has to be a PKCS#12 key store, and " + name
                            + ".password-file has to hold its password");
        }
    }
}
