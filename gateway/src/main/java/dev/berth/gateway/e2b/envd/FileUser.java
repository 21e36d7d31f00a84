package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.Account;
import java.util.Optional;

/** Who reads or writes a file over the REST API, and what his paths mean; with that API's errors. */
final class FileUser {
    private FileUser() {}

    /** @throws E2bError 401 if the sandbox does not know him */
    static Account of(Visit visit, Optional<String> username) {
        String name = username.filter(text -> !text.isEmpty())
                .orElseGet(() -> visit.sandbox().defaultUser());
        return visit.find(name)
                .orElseThrow(
                        () -> new E2bError(401, "error looking up user '" + name + "': user: unknown user " + name));
    }

    /** @throws E2bError 400 if it cannot be a path */
    static String path(Account account, String path) {
        try {
            return UserPath.of(account, path);
        } catch (ConnectError e) {
            throw new E2bError(400, "error resolving path: " + e.getMessage());
        }
    }
}
