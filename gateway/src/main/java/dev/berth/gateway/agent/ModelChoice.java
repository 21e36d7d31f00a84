package dev.berth.gateway.agent;

import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Optional;

/**
 * A model, and how it is reached.
 *
 * @param provider the name of whoever serves it, such as {@code anthropic}
 * @param url where it is served, for providers that agents do not know
 * @param protocol how it is spoken to there
 * @param secret the name of the tenant's secret that has its key
 */
public record ModelChoice(
        String provider, String name, Optional<String> url, String protocol, Optional<String> secret) {
    public static final String PROTOCOL = "openai-completions";

    public ModelChoice {
        url.ifPresent(ModelChoice::rule);
        if (url.isEmpty() && secret.isEmpty()) {
            throw SandboxException.invalid("a model needs a url, or the secret that has its key: without either an"
                    + " agent would not be allowed to reach it");
        }
    }

    /** What has to be allowed so that it can be reached; a secret opens the hosts that it is bound to by itself. */
    Optional<Rule> rule() {
        return url.map(ModelChoice::rule);
    }

    private static Rule rule(String url) {
        try {
            URI address = new URI(url);
            String scheme = String.valueOf(address.getScheme());
            boolean tls = scheme.equals("https");
            if (address.getHost() != null && (tls || scheme.equals("http")) && address.getUserInfo() == null) {
                int port = address.getPort() > 0 ? address.getPort() : tls ? 443 : 80;
                String host = address.getHost().replace("[", "").replace("]", "");
                return new Rule(host, List.of(port), List.of(), List.of());
            }
        } catch (URISyntaxException e) {
            // told below, without what it says: there may be a key in it
        }
        throw SandboxException.invalid("the url of a model has to be an address such as https://llm.example/v1,"
                + " without a user or a password");
    }
}
