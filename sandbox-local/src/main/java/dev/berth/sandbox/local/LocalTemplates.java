package dev.berth.sandbox.local;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.TemplateInfo;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.Templates;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateBuilder;
import dev.berth.sandbox.local.template.TemplateFile;
import dev.berth.sandbox.local.template.TemplateStore;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The templates of this machine, for those who know nothing of it. */
final class LocalTemplates implements Templates {
    private final TemplateStore store;
    private final TemplateBuilder builder;
    private final Supplier<Set<String>> inUse;

    /** @param inUse the ids of those that sandboxes and checkpoints stand on */
    LocalTemplates(TemplateStore store, TemplateBuilder builder, Supplier<Set<String>> inUse) {
        this.store = store;
        this.builder = builder;
        this.inUse = inUse;
    }

    @Override
    public List<TemplateInfo> list() {
        return store.list().stream().map(Template::info).toList();
    }

    @Override
    public Optional<TemplateInfo> find(String name) {
        return store.find(name).map(Template::info);
    }

    @Override
    public Set<String> shipped() {
        return TemplateFile.shipped();
    }

    @Override
    public TemplateInfo build(TemplateSpec spec, Consumer<BuildEvent> watcher) {
        return builder.build(spec, watcher).info();
    }

    @Override
    public void remove(String name) {
        Set<String> used = inUse.get();
        var _ = store.remove(name, template -> used.contains(template.id()));
    }
}
