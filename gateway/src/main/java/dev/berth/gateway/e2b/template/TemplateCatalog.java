package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.TemplateNames;
import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import dev.berth.gateway.e2b.template.TemplateRow.TagRow;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateInfo;
import dev.berth.sandbox.Templates;
import dev.berth.session.store.Database;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which templates a tenant has, and what it means by a name: one of its own first, then one that another made public, then
 * one that the operator built for everybody, such as {@code base}. Nobody learns of a template that is another's.
 */
public final class TemplateCatalog implements TemplateNames {
    private static final Logger LOG = LoggerFactory.getLogger(TemplateCatalog.class);
    private static final String CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
    private static final int ID_LENGTH = 20;
    private static final Pattern OWNED = TemplateOwners.OWNED;

    private final Templates provider;
    private final Database database;
    private final SecureRandom random;
    private final TemplateTable templates;
    private final BuildTable builds;

    public TemplateCatalog(Templates provider, Database database, SecureRandom random) {
        this.provider = provider;
        this.database = database;
        this.random = random;
        this.templates = new TemplateTable(database);
        this.builds = new BuildTable(database);
    }

    @Override
    public Named resolve(String tenant, String templateId) {
        TemplateReference reference = TemplateReference.parse(templateId);
        Optional<TemplateRow> row = visible(tenant, reference);
        if (row.isPresent()) {
            String tag = reference.tag().orElse(TemplateReference.DEFAULT_TAG);
            BuildRow build = builds.tagged(row.get().id(), tag)
                    .orElseThrow(() -> new E2bError(
                            404,
                            "the template '" + reference.name() + "' has no build '" + tag
                                    + "' that is ready; build it first"));
            return new Named(
                    build.root().orElseThrow(),
                    row.get().id(),
                    row.get().aliases().stream().findFirst(),
                    build.cpus().isPresent() ? OptionalDouble.of(build.cpus().getAsInt()) : OptionalDouble.empty(),
                    build.memoryMb().isPresent()
                            ? OptionalLong.of((long) build.memoryMb().getAsInt() << 20)
                            : OptionalLong.empty());
        }
        TemplateInfo shared = shared(reference).orElseThrow(() -> missing(reference));
        boolean newest = reference
                .tag()
                .filter(tag -> !tag.equals(TemplateReference.DEFAULT_TAG))
                .isEmpty();
        return new Named(
                newest ? shared.name() : shared.id(),
                shared.name(),
                Optional.of(shared.name()),
                OptionalDouble.empty(),
                OptionalLong.empty());
    }

    /** One that is the tenant's own. */
    TemplateRow own(String tenant, String templateId) {
        TemplateReference reference = TemplateReference.parse(templateId);
        return ownIfAny(tenant, reference).orElseThrow(() -> missing(reference));
    }

    Optional<TemplateRow> ownIfAny(String tenant, TemplateReference reference) {
        return reference.within(tenant) ? templates.own(tenant, reference.name()) : Optional.empty();
    }

    Optional<TemplateRow> visible(String tenant, TemplateReference reference) {
        return ownIfAny(tenant, reference).or(() -> templates.open(reference.namespace(), reference.name()));
    }

    /** One that the operator has for everybody. */
    Optional<TemplateInfo> shared(TemplateReference reference) {
        if (reference.namespace().isPresent() || OWNED.matcher(reference.name()).matches()) {
            return Optional.empty();
        }
        String tag = reference
                .tag()
                .filter(it -> !it.equals(TemplateReference.DEFAULT_TAG))
                .orElse("");
        if (!tag.isEmpty() && !tag.matches("[1-9][0-9]{0,8}")) {
            return Optional.empty();
        }
        try {
            return provider.find(tag.isEmpty() ? reference.name() : reference.name() + ":" + tag);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.INVALID) {
                return Optional.empty(); // no name that it could have
            }
            throw e;
        }
    }

    List<TemplateInfo> shared() {
        return provider.list().stream()
                .filter(template -> !OWNED.matcher(template.name()).matches())
                .toList();
    }

    E2bError missing(TemplateReference reference) {
        boolean unbuilt = reference.namespace().isEmpty() && provider.shipped().contains(reference.name());
        return new E2bError(
                404,
                unbuilt
                        ? "template '" + reference.name() + "' is not built on this server yet; its operator builds it"
                                + " with 'berth template build " + reference.name() + "'"
                        : "template '" + reference.name() + "' not found");
    }

    List<TemplateRow> list(String tenant) {
        return templates.list(tenant);
    }

    /** A template and the build that was asked for. */
    record Requested(TemplateRow template, UUID build, List<String> tags) {}

    /** Writes down that a template, new or known, is to be built. */
    Requested request(
            String tenant, TemplateReference name, List<String> tags, OptionalInt cpus, OptionalInt memoryMb) {
        if (!name.within(tenant)) {
            throw new E2bError(400, "the namespace '" + name.namespace().orElse("") + "' is not yours; leave it out");
        }
        UUID build = UUID.randomUUID();
        String id = database.transaction(handle -> {
            String template = templates.claim(handle, tenant, name.name(), freshId());
            builds.insert(handle, build, template, tags, cpus, memoryMb);
            return template;
        });
        return new Requested(templates.own(tenant, id).orElseThrow(() -> missing(name)), build, tags);
    }

    BuildRow build(String template, String buildId) {
        return uuid(buildId)
                .flatMap(id -> builds.find(template, id))
                .orElseThrow(() -> new E2bError(404, "build '" + shortened(buildId) + "' not found"));
    }

    BuildTable builds() {
        return builds;
    }

    void publish(TemplateRow template, boolean open) {
        templates.publish(template.id(), open);
    }

    void delete(TemplateRow template) {
        templates.delete(template.id());
        sweep();
    }

    /** Removes the files of deleted templates, and of builds that no tag names any more, when nobody needs them. */
    void sweep() {
        templates.doomed().forEach(id -> remove("t-" + id, () -> templates.forget(id)));
        builds.superseded().forEach(root -> remove(root, () -> builds.forgetRoot(root)));
    }

    private void remove(String root, Runnable forget) {
        try {
            provider.remove(root);
            forget.run();
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                forget.run();
            } else if (e.code() != ErrorCode.CONFLICT) {
                LOG.atWarn().addKeyValue("template", root).setCause(e).log("template.remove.failed");
            }
        }
    }

    /** Says that a build is there, and what it is called from now on. */
    boolean ready(BuildRow build, TemplateInfo made) {
        return database.transaction(handle -> {
            boolean done = builds.ready(handle, build.id(), made);
            if (done) {
                templates.tag(handle, build.template(), build.tags(), build.id());
            }
            return done;
        });
    }

    List<TagRow> tags(TemplateRow template) {
        return templates.tags(template.id());
    }

    void tag(TemplateRow template, List<String> tags, UUID build) {
        database.transaction(handle -> {
            templates.tag(handle, template.id(), tags, build);
            return build;
        });
    }

    int untag(TemplateRow template, List<String> tags) {
        return templates.untag(template.id(), tags);
    }

    private String freshId() {
        StringBuilder id = new StringBuilder(ID_LENGTH);
        for (int i = 0; i < ID_LENGTH; i++) {
            id.append(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
        }
        return id.toString();
    }

    static Optional<UUID> uuid(String text) {
        try {
            return text.length() == 36 ? Optional.of(UUID.fromString(text)) : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static String shortened(String text) {
        return text.length() <= 80 ? text : text.substring(0, 80) + "…";
    }
}
