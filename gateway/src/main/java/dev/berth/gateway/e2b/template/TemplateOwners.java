package dev.berth.gateway.e2b.template;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionSpec;
import dev.berth.session.store.Database;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Who may start sandboxes from a template that a tenant has built. E2B's clients name it by a name of theirs; whoever asks by
 * another way names its root, as the provider knows it, and has to be one who may all the same.
 */
public final class TemplateOwners {
    /** Of roots that belong to tenants; the operator's templates are called otherwise. */
    static final Pattern OWNED = Pattern.compile("t-([a-z0-9]{20})");

    private final TemplateTable templates;

    public TemplateOwners(Database database) {
        this.templates = new TemplateTable(database);
    }

    /** @throws SandboxException {@code not_found} if the template of the spec is another's, and not public */
    public SessionSpec checked(String tenant, SessionSpec spec) {
        Matcher owned = OWNED.matcher(spec.template().split(":", 2)[0]);
        if (owned.matches()
                && templates
                        .own(tenant, owned.group(1))
                        .or(() -> templates.open(Optional.empty(), owned.group(1)))
                        .isEmpty()) {
            throw SandboxException.notFound("there is no template '" + spec.template() + "'");
        }
        return spec;
    }
}
