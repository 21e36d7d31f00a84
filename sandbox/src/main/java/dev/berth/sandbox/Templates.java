package dev.berth.sandbox;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The templates of a provider: what sandboxes start from, and how more of them are made.
 *
 * <p>A name means the newest version, and {@code name:2} a certain one. A version never changes once it is there.
 */
public interface Templates {
    /** All versions of all templates, by name, the newest version first. */
    List<TemplateInfo> list();

    Optional<TemplateInfo> find(String name);

    /** The names of those that come with the provider, whether they are built yet or not. */
    Set<String> shipped();

    /**
     * Builds the next version of a template. Steps whose result is known from an earlier build are not done again; when
     * nothing changed at all, the version that is there is the result. It returns when the version is there.
     *
     * @throws SandboxException {@code invalid} for a step that fails; the detail {@link BuildEvent#STEP} says which
     */
    TemplateInfo build(TemplateSpec spec, Consumer<BuildEvent> watcher);

    /**
     * Removes a version, or all of them if none is named.
     *
     * @throws SandboxException {@code not_found} if there is none, {@code conflict} while a sandbox, a checkpoint or a
     *     build needs it
     */
    void remove(String name);
}
