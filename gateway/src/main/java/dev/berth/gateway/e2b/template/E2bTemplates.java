package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.Callers;
import dev.berth.gateway.e2b.Routes;
import dev.berth.gateway.e2b.TemplateNames;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Templates;
import dev.berth.session.store.Database;
import java.net.URI;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.BiPredicate;

/** Everything about templates that E2B's clients see, put together. */
public final class E2bTemplates implements AutoCloseable {
    private final TemplateCatalog catalog;
    private final Builds builds;
    private final Uploads uploads;
    private final TemplateApi templateApi;
    private final BuildApi buildApi;

    /**
     * @param uploads the directory for what clients send
     * @param usual of sandboxes whose template says nothing else
     * @param address where clients find this server, if that is not where they ask
     */
    public E2bTemplates(
            Templates provider,
            Database database,
            Path uploads,
            Limits usual,
            Optional<URI> address,
            Tokens tokens,
            Callers callers) {
        InstantSource clock = InstantSource.system();
        this.catalog = new TemplateCatalog(provider, database, new SecureRandom());
        this.builds = new Builds(provider, catalog, clock);
        this.uploads = new Uploads(uploads, tokens, clock);
        this.templateApi = new TemplateApi(catalog, callers, new TemplateJson(usual));
        this.buildApi = new BuildApi(catalog, builds, this.uploads, callers, address);
    }

    public TemplateNames names() {
        return catalog;
    }

    /** @param snapshots removes a tenant's snapshot, which clients call a template; false if it has none of that name */
    public void routes(Routes routes, BiPredicate<String, String> snapshots) {
        templateApi.routes(routes, snapshots);
        buildApi.routes(routes);
    }

    /** Removes what is no longer needed; for every few minutes. */
    public void sweep() {
        uploads.sweep();
        catalog.sweep();
    }

    @Override
    public void close() {
        builds.close();
    }
}
