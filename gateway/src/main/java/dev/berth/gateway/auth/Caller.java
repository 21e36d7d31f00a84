package dev.berth.gateway.auth;

import dev.berth.sandbox.SandboxException;
import java.util.Set;

/**
 * Who asks.
 *
 * @param name for logs and events: the credential, never its secret
 * @param tenant whose sessions these are
 * @param admin whether it may act for every tenant
 * @param scopes what it may do
 */
public record Caller(String name, String tenant, boolean admin, Set<Scope> scopes) {
    public Caller {
        scopes = Set.copyOf(scopes);
    }

    public boolean may(Scope scope) {
        return admin || scopes.contains(scope);
    }

    public void require(Scope scope) {
        if (!may(scope)) {
            throw SandboxException.denied(
                    "this key has no scope '" + scope + "'; ask for one that has it, or for another key");
        }
    }

    public void requireAdmin() {
        if (!admin) {
            throw SandboxException.denied("this needs the operator's key");
        }
    }
}
