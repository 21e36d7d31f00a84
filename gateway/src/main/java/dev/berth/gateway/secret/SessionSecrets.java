package dev.berth.gateway.secret;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Use;
import dev.berth.gateway.egress.SecretBook;
import dev.berth.session.SessionKey;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The secrets of tenants, for the way out of their sessions. */
public record SessionSecrets(Secrets secrets) implements SecretBook {
    @Override
    public void check(String tenant, List<String> names) {
        secrets.check(tenant, names);
    }

    @Override
    public List<Binding> bindings(SessionKey session, List<String> names) {
        return secrets.bindings(session, names);
    }

    @Override
    public Optional<String> reveal(SessionKey session, String name) {
        return secrets.reveal(session.tenant(), name);
    }

    @Override
    public Map<String, String> env(SessionKey session, List<String> names) {
        return secrets.env(session, names);
    }

    @Override
    public void used(SessionKey session, Use use) {
        secrets.used(session.tenant(), use.secret());
    }
}
