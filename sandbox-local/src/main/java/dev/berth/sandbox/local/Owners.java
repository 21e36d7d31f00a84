package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.Accounts;
import dev.berth.sandbox.local.template.Template;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Whose the files are that are written into a sandbox from outside: the default user's, as the template has it. A template
 * does not change, so that is looked up once.
 */
final class Owners {
    private final Map<Path, Accounts.Account> known = new ConcurrentHashMap<>();

    Accounts.Account of(Template template) {
        return known.computeIfAbsent(
                template.root(),
                root -> new Accounts(() -> root)
                        .find(template.user())
                        .orElseThrow(() -> SandboxException.invalid(
                                "template " + template.id() + " has no user '" + template.user() + "'")));
    }
}
