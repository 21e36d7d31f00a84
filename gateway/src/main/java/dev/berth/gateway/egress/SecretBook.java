package dev.berth.gateway.egress;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Use;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The secrets of tenants, as far as the way out has to know of them. Asked for every request, so it has to be quick. */
public interface SecretBook {
    /** Of a server without secrets. */
    SecretBook NONE = new SecretBook() {
        @Override
        public void check(String tenant, List<String> names) {
            throw SandboxException.invalid("this server has no secrets");
        }

        @Override
        public List<Binding> bindings(SessionKey session, List<String> names) {
            return List.of();
        }

        @Override
        public Optional<String> reveal(SessionKey session, String name) {
            return Optional.empty();
        }

        @Override
        public Map<String, String> env(SessionKey session, List<String> names) {
            return Map.of();
        }

        @Override
        public void used(SessionKey session, Use use) {}
    };

    /** @throws SandboxException {@code invalid} if no session of a tenant can have these, with every reason */
    void check(String tenant, List<String> names);

    /** How those of these names that are there are bound now, with the placeholders that this session has for them. */
    List<Binding> bindings(SessionKey session, List<String> names);

    /** The value of a secret of the session's tenant, as it is now. */
    Optional<String> reveal(SessionKey session, String name);

    /** The variables that a session has in the stead of these secrets: placeholders, nothing secret. */
    Map<String, String> env(SessionKey session, List<String> names);

    /** Writes down when a secret was used last. Must not block for long. */
    void used(SessionKey session, Use use);
}
