package dev.berth.sandbox.local.template;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.sandbox.local.template.oci.Image;
import dev.berth.sandbox.local.template.oci.Registry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/**
 * Builds templates from template files and from requests, into a store.
 *
 * <p>One build at a time works in a templates directory; another one, of this or another process, waits. What a killed
 * build left in {@code .build} is removed by the next one, and its finished steps are in the cache.
 */
public final class TemplateBuilder {
    private final TemplateStore store;
    private final Map<String, String> environment;
    private final Clock clock;
    private final Registry registry;
    private final BuildConfig.Reach reach;
    private final Optional<StepYard> yard;
    private final BuildBounds bounds;

    public TemplateBuilder(TemplateStore store) {
        this(store, System.getenv(), Clock.systemUTC());
    }

    /** One that builds what others ask for, and lets their commands run in a yard. */
    public static TemplateBuilder ofRequests(TemplateStore store, BuildConfig config, StepYard yard) {
        return new TemplateBuilder(store, System.getenv(), Clock.systemUTC(), config, Optional.of(yard));
    }

    /**
     * @param environment where the proxy settings of the build are taken from
     */
    TemplateBuilder(TemplateStore store, Map<String, String> environment, Clock clock) {
        this(store, environment, clock, BuildConfig.DEFAULT, Optional.empty());
    }

    TemplateBuilder(
            TemplateStore store,
            Map<String, String> environment,
            Clock clock,
            BuildConfig config,
            Optional<StepYard> yard) {
        this(store, environment, clock, config, yard, BuildBounds.DEFAULT);
    }

    TemplateBuilder(
            TemplateStore store,
            Map<String, String> environment,
            Clock clock,
            BuildConfig config,
            Optional<StepYard> yard,
            BuildBounds bounds) {
        this.bounds = bounds;
        this.store = store;
        this.environment = environment;
        this.clock = clock;
        this.registry = new Registry(config.registries());
        this.reach = config.network();
        this.yard = yard;
    }

    /**
     * Builds the template, using the results of earlier builds for steps that did not change. When nothing changed at
     * all, the version that is there is returned.
     */
    public Template build(TemplateFile file, String name, Consumer<BuildEvent> progress) {
        return onPlatformThread(file.script(false), name, progress);
    }

    /** Builds every step anew, for example to get the packages of today, and publishes a new version. */
    public Template rebuild(TemplateFile file, String name, Consumer<BuildEvent> progress) {
        return onPlatformThread(file.script(true), name, progress);
    }

    /** Builds what is asked for by {@link dev.berth.sandbox.Templates#build}. */
    public Template build(TemplateSpec spec, Consumer<BuildEvent> progress) {
        return onPlatformThread(Script.of(spec), spec.name(), progress);
    }

    /** Removes what a build that was killed left running or connected, unless one is at work now. */
    public void sweep() throws IOException {
        Optional<ProcessLock> lock = ProcessLock.tryAcquire(store.buildLock());
        if (lock.isPresent() && yard.isPresent()) {
            try (ProcessLock _ = lock.get()) {
                yard.get().close();
            }
        }
    }

    /** A build's commands die with the thread that started them, so that has to be one that nothing else ends. */
    private Template onPlatformThread(Script script, String name, Consumer<BuildEvent> progress) {
        FutureTask<Template> task = new FutureTask<>(() -> buildHere(script, name, progress));
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
                SandboxException here = new SandboxException(known.code(), known.getMessage(), known);
                known.details().forEach(here::with);
                throw here;
            }
            throw SandboxException.unavailable("could not build the template " + name + ": " + e.getCause(), e);
        }
    }

    private Template buildHere(Script script, String text, Consumer<BuildEvent> progress) throws IOException {
        String name = checkedName(text);
        requireTools();
        store.prepare();
        // A registry may take its time to answer, for which the others need not wait.
        Optional<Image> image = image(script);
        try (ProcessLock _ = lock(progress)) {
            FileTree.privateDirectory(store.buildDirectory());
            FileTree.deleteChildren(store.buildDirectory());
            return script.asked()
                    ? BuildWatch.watched(bounds, store.directory(), () -> buildLocked(script, image, name, progress))
                    : buildLocked(script, image, name, progress);
        }
    }

    private Template buildLocked(Script given, Optional<Image> image, String name, Consumer<BuildEvent> progress)
            throws IOException {
        Beginning beginning = beginning(given, image, progress);
        Script script = withItsFiles(given);
        BuildPlan plan = BuildPlan.of(script, beginning);
        Optional<Template> same = store.newest(name).filter(t -> t.recipe().equals(plan.recipe()));
        if (!script.anew() && same.isPresent()) {
            progress.accept(new BuildEvent.Published(same.get().info(), true));
            return same.get();
        }
        FileTree.privateDirectory(store.cacheDirectory());
        LayerCache cache = new LayerCache(store.cacheDirectory().resolve("layers"), clock);
        cache.forgetUnused();
        Path scratch = FileTree.privateDirectory(store.buildDirectory().resolve("now"));
        try {
            Template built = new BuildRun(
                            store, cache, scratch, network(script), place(script), script, beginning, plan, progress)
                    .build(name, registry);
            progress.accept(new BuildEvent.Published(built.info(), false));
            return built;
        } finally {
            FileTree.delete(scratch);
        }
    }

    /** What a file that ships with Berth copies ships with it too, and has to be on the disk for that. */
    private Script withItsFiles(Script script) throws IOException {
        if (script.directory().isPresent()) {
            return script;
        }
        Path unpacked = store.buildDirectory().resolve("shipped");
        FileTree.delete(unpacked);
        boolean any = false;
        for (Instruction instruction : script.instructions()) {
            if (instruction instanceof Instruction.Copy copy) {
                any |= Resources.unpack(copy.source(), FileTree.privateDirectory(unpacked));
            }
        }
        return any ? script.in(unpacked) : script;
    }

    /** Whoever asks for a build gets nothing of how this machine reaches the world, unless the operator wants it so. */
    private BuildNetwork network(Script script) {
        BuildNetwork ours = BuildNetwork.of(environment);
        return place(script).reach() == BuildConfig.Reach.HOST ? ours : ours.withoutWays();
    }

    private BuildRun.Place place(Script script) {
        return script.asked() && yard.isPresent()
                ? new BuildRun.Place(yard, reach)
                : new BuildRun.Place(Optional.empty(), BuildConfig.Reach.HOST);
    }

    private ProcessLock lock(Consumer<BuildEvent> progress) {
        return ProcessLock.tryAcquire(store.buildLock()).orElseGet(() -> {
            progress.accept(new BuildEvent.Waiting());
            return ProcessLock.acquire(store.buildLock());
        });
    }

    private Optional<Image> image(Script script) {
        if (!(script.from() instanceof Instruction.FromImage from)) {
            return Optional.empty();
        }
        try {
            return Optional.of(registry.find(from.image(), from.credentials()));
        } catch (SandboxException e) {
            throw e.with(BuildEvent.STEP, BuildEvent.BASE);
        }
    }

    private Beginning beginning(Script script, Optional<Image> image, Consumer<BuildEvent> progress)
            throws IOException {
        return switch (script.from()) {
            case Instruction.FromDebian from -> Beginning.debian(from.suite());
            case Instruction.FromTemplate from -> Beginning.template(parent(script, from, progress));
            case Instruction.FromImage _ -> Beginning.image(image.orElseThrow());
        };
    }

    /** What it begins with. If that ships with Berth and was never built, it is built now. */
    private Template parent(Script script, Instruction.FromTemplate from, Consumer<BuildEvent> progress)
            throws IOException {
        TemplateName wanted = from.template();
        Optional<TemplateFile> shipped =
                wanted.version().isPresent() || store.find(wanted.name()).isPresent()
                        ? Optional.empty()
                        : TemplateFile.shipped(wanted.name());
        if (shipped.isPresent()) {
            progress.accept(new BuildEvent.Needed(wanted.name()));
            return buildLocked(shipped.get().script(false), Optional.empty(), wanted.name(), progress);
        }
        try {
            return store.get(from.template().toString());
        } catch (SandboxException e) {
            throw new SandboxException(e.code(), script.where(from) + ": " + e.getMessage(), e)
                    .with(BuildEvent.STEP, BuildEvent.BASE);
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
