package dev.berth.sandbox.local.template;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/**
 * Builds templates from template files, into a store.
 *
 * <p>One build at a time works in a templates directory; another one, of this or another process, waits. What a killed
 * build left in {@code .build} is removed by the next one, and its finished steps are in the cache.
 */
public final class TemplateBuilder {
    private final TemplateStore store;
    private final Map<String, String> environment;
    private final Clock clock;

    public TemplateBuilder(TemplateStore store) {
        this(store, System.getenv(), Clock.systemUTC());
    }

    /**
     * @param environment where the proxy settings of the build are taken from
     */
    TemplateBuilder(TemplateStore store, Map<String, String> environment, Clock clock) {
        this.store = store;
        this.environment = environment;
        this.clock = clock;
    }

    /**
     * Builds the template, using the results of earlier builds for steps that did not change. When nothing changed at
     * all, the version that is there is returned.
     */
    public Template build(TemplateFile file, String name, Consumer<BuildEvent> progress) {
        return onPlatformThread(file, name, false, progress);
    }

    /** Builds every step anew, for example to get the packages of today, and publishes a new version. */
    public Template rebuild(TemplateFile file, String name, Consumer<BuildEvent> progress) {
        return onPlatformThread(file, name, true, progress);
    }

    /** A build's commands die with the thread that started them, so that has to be one that nothing else ends. */
    private Template onPlatformThread(TemplateFile file, String name, boolean fresh, Consumer<BuildEvent> progress) {
        FutureTask<Template> task = new FutureTask<>(() -> buildHere(file, name, fresh, progress));
        Thread thread = Thread.ofPlatform().name("template build " + name).start(task);
        try {
            return task.get();
        } catch (InterruptedException e) {
            thread.interrupt();
            awaitEnd(thread);
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("the build of the template " + name + " was interrupted", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SandboxException known) {
                throw new SandboxException(known.code(), String.valueOf(known.getMessage()), known);
            }
            throw SandboxException.unavailable("could not build the template " + name + ": " + e.getCause(), e);
        }
    }

    private Template buildHere(TemplateFile file, String text, boolean fresh, Consumer<BuildEvent> progress)
            throws IOException {
        String name = checkedName(text);
        requireTools();
        store.prepare();
        try (ProcessLock _ = lock(progress)) {
            FileTree.privateDirectory(store.buildDirectory());
            FileTree.deleteChildren(store.buildDirectory());
            return buildLocked(file, name, fresh, progress);
        }
    }

    private Template buildLocked(TemplateFile file, String name, boolean fresh, Consumer<BuildEvent> progress)
            throws IOException {
        Optional<Template> parent = parent(file, progress);
        BuildPlan plan = BuildPlan.of(file, parent);
        Optional<Template> same = store.newest(name).filter(t -> t.recipe().equals(plan.recipe()));
        if (!fresh && same.isPresent()) {
            progress.accept(new BuildEvent.Published(same.get(), true));
            return same.get();
        }
        FileTree.privateDirectory(store.cacheDirectory());
        LayerCache cache = new LayerCache(store.cacheDirectory().resolve("layers"), clock);
        cache.forgetUnused();
        Path scratch = FileTree.privateDirectory(store.buildDirectory().resolve("now"));
        try {
            Template built = new BuildRun(
                            store, cache, scratch, BuildNetwork.of(environment), file, parent, plan, progress)
                    .build(name, fresh);
            progress.accept(new BuildEvent.Published(built, false));
            return built;
        } finally {
            FileTree.delete(scratch);
        }
    }

    private ProcessLock lock(Consumer<BuildEvent> progress) {
        return ProcessLock.tryAcquire(store.buildLock()).orElseGet(() -> {
            progress.accept(new BuildEvent.Waiting());
            return ProcessLock.acquire(store.buildLock());
        });
    }

    /** What it begins with. If that ships with Berth and was never built, it is built now. */
    private Optional<Template> parent(TemplateFile file, Consumer<BuildEvent> progress) throws IOException {
        if (!(file.from() instanceof Instruction.FromTemplate from)) {
            return Optional.empty();
        }
        TemplateName wanted = from.template();
        Optional<TemplateFile> shipped =
                wanted.version().isPresent() || store.find(wanted.name()).isPresent()
                        ? Optional.empty()
                        : TemplateFile.shipped(wanted.name());
        if (shipped.isPresent()) {
            progress.accept(new BuildEvent.Needed(wanted.name()));
            return Optional.of(buildLocked(shipped.get(), wanted.name(), false, progress));
        }
        try {
            return Optional.of(store.get(from.template().toString()));
        } catch (SandboxException e) {
            throw new SandboxException(e.code(), file.source() + " line " + from.line() + ": " + e.getMessage(), e);
        }
    }

    private static String checkedName(String text) {
        TemplateName name = TemplateName.parse(text);
        if (name.version().isPresent()) {
            throw SandboxException.invalid("a build gives its template the next version by itself; write '"
                    + name.name() + "' instead of '" + text + "'");
        }
        if (name.name().equals(HostTemplate.NAME) || name.name().equals("debian")) {
            throw SandboxException.invalid(
                    "'" + name.name() + "' has a meaning of its own; give the template another name");
        }
        return name.name();
    }

    private static void requireTools() {
        for (String program : new String[] {"crun", "unshare", "setpriv", "mount", "cp"}) {
            if (ExternalCommand.find(program).isEmpty()) {
                throw SandboxException.unsupported("templates are built with " + program
                        + ", which this machine lacks; install it with 'apt-get install crun util-linux coreutils'");
            }
        }
        if (!System.getProperty("user.name", "").equals("root")) {
            throw new SandboxException(
                    ErrorCode.DENIED, "only root can build templates, since that mounts filesystems; run it as root");
        }
    }

    private static void awaitEnd(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
