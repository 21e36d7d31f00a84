package dev.berth.sandbox.local.template;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.Accounts;
import dev.berth.sandbox.local.pack.ArchiveUnpacker;
import dev.berth.sandbox.local.template.oci.Registry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * One build, under the build lock.
 *
 * <p>Each step runs on an overlay: below it lie the layers of the steps before, and what it changes becomes a layer of
 * the cache. At the end all layers, seen as one, are copied into the template's root. A step whose layer is in the cache
 * costs nothing, and a step that fails leaves those before it there.
 */
final class BuildRun {
    private static final Duration READY_PATIENCE = Duration.ofMinutes(5);
    /** As timeout(1) says it. */
    private static final int NEVER_READY = 124;

    private final TemplateStore store;
    private final LayerCache cache;
    private final Path scratch;
    private final BuildNetwork network;
    private final Place place;
    private final Script script;
    private final Beginning beginning;
    private final BuildPlan plan;
    private final Consumer<BuildEvent> progress;
    private final AptSources sources;
    private final StepContainer container;
    /** The layers so far, topmost first, as overlayfs wants them. */
    private final List<String> lower = new ArrayList<>();

    private final boolean checksStart;
    private final int total;
    private int number;

    BuildRun(
            TemplateStore store,
            LayerCache cache,
            Path scratch,
            BuildNetwork network,
            Place place,
            Script script,
            Beginning beginning,
            BuildPlan plan,
            Consumer<BuildEvent> progress)
            throws IOException {
        this.store = store;
        this.cache = cache;
        this.scratch = scratch;
        this.network = network;
        this.place = place;
        this.script = script;
        this.beginning = beginning;
        this.plan = plan;
        this.progress = progress;
        this.sources = AptSources.ofHost();
        this.container =
                new StepContainer(cache.directory(), scratch, network, beginning.readOnlyHostPaths(), script.asked());
        this.checksStart = plan.ready().isPresent() && (plan.start().isPresent() || script.asUser());
        this.total = plan.steps().size() + (checksStart ? 3 : 2);
    }

    /** Where steps run, and what their commands reach. Without a yard they are the machine's own processes. */
    record Place(Optional<StepYard> yard, BuildConfig.Reach reach) {}

    Template build(String name, Registry registry) throws IOException {
        String below = first(registry);
        for (BuildPlan.Step step : plan.steps()) {
            below = layer(step.key(), below, step.instruction(), files -> work(step, files));
        }
        try {
            if (checksStart) {
                checkStart();
            }
            return publish(name);
        } catch (SandboxException e) {
            throw e.with(BuildEvent.STEP, BuildEvent.FINISH);
        }
    }

    private interface Making {
        ExternalCommand.Ended make(Path files) throws IOException;
    }

    private String first(Registry registry) throws IOException {
        return switch (script.from()) {
            case Instruction.FromDebian debian -> {
                DebianBootstrap bootstrap = new DebianBootstrap(sources, network.aptProxies());
                yield layer(plan.firstKey(), "", debian, files -> bootstrap.make(debian.suite(), files, this::output));
            }
            case Instruction.FromTemplate template -> {
                begin(template.text());
                lower.add(cache.directory()
                        .relativize(beginning.parent().orElseThrow().root())
                        .toString());
                end(template.text(), true, System.nanoTime());
                yield plan.firstKey();
            }
            case Instruction.FromImage from ->
                layer(plan.firstKey(), "", from, files -> {
                    ImageRoot.make(registry, beginning.image().orElseThrow(), files, this::output);
                    return new ExternalCommand.Ended("unpack", 0, false, List.of());
                });
        };
    }

    /** Finds the layer of a step, or makes it; gives the id that the next one builds on. */
    private String layer(String key, String below, Instruction instruction, Making making) throws IOException {
        begin(instruction.text());
        long started = System.nanoTime();
        Optional<LayerCache.Layer> cached = script.anew(instruction) ? Optional.empty() : cache.find(key, below);
        LayerCache.Layer layer;
        if (cached.isPresent()) {
            layer = cached.get();
        } else {
            Path files = scratch.resolve("files");
            FileTree.delete(files);
            make(instruction, making, files);
            layer = cache.keep(key, below, files, scratch);
        }
        lower.addFirst(layer.lower());
        end(instruction.text(), cached.isPresent(), started);
        return layer.id();
    }

    private void make(Instruction instruction, Making making, Path files) throws IOException {
        try {
            ExternalCommand.Ended ended = making.make(files);
            if (!ended.ok()) {
                throw failed(instruction, ended);
            }
        } catch (SandboxException e) {
            boolean first = instruction instanceof Instruction.From;
            throw e.with(BuildEvent.STEP, first ? BuildEvent.BASE : Integer.toString(instruction.line()));
        }
    }

    private ExternalCommand.Ended work(BuildPlan.Step step, Path files) throws IOException {
        StepContainer.Work work = switch (step.instruction()) {
            case Instruction.Run run ->
                work(step, network.env(), Map.of(), "run", run.as().orElse(step.user()), run.command());
            case Instruction.Workdir _ -> work(step, Map.of(), Map.of(), "workdir", step.user(), step.workdir());
            case Instruction.User user -> work(step, Map.of(), Map.of(), "user", user.name());
            case Instruction.Copy copy -> copy(step, copy);
            case Instruction.Unpack unpack -> unpack(step, unpack);
            case Instruction.Packages packages -> packages(step, packages);
            case Instruction other -> throw new IllegalStateException("changes no files: " + other);
        };
        boolean runs =
                step.instruction() instanceof Instruction.Run || step.instruction() instanceof Instruction.Packages;
        return container.run(lower, files, work, runs ? way() : StepContainer.Way.NONE, place.yard(), this::output);
    }

    private StepContainer.Way way() {
        return switch (place.reach()) {
            case HOST -> StepContainer.Way.HOST;
            case NONE -> StepContainer.Way.NONE;
            case OPEN -> {
                Optional<String> lacking = place.yard().flatMap(StepYard::lacking);
                lacking.ifPresent(why -> output("build steps have no network here: " + why));
                yield lacking.isEmpty() ? StepContainer.Way.OPEN : StepContainer.Way.NONE;
            }
        };
    }

    private StepContainer.Work copy(BuildPlan.Step step, Instruction.Copy copy) throws IOException {
        CopySource source = CopySource.of(script, copy);
        Path staged = staged();
        String name = String.valueOf(source.path().getFileName());
        ExternalCommand.of(List.of(
                        "cp",
                        "-a",
                        "--reflink=auto",
                        "--",
                        source.path().toString(),
                        staged.resolve(name).toString()))
                .run(this::output)
                .orThrow();
        FileTree.setOwners(staged, 0, 0);
        return work(step, Map.of(), Map.of("/run/berth-build/copy", "copy"), "copy", step.user(), name, copy.target());
    }

    private Path staged() throws IOException {
        Path staged = scratch.resolve("copy");
        FileTree.delete(staged);
        return FileTree.privateDirectory(staged);
    }

    /**
     * The archive is somebody's, so it is made into files beside the template, and what of it goes where is done by the
     * step's own root, who sees nothing else.
     */
    private StepContainer.Work unpack(BuildPlan.Step step, Instruction.Unpack unpack) throws IOException {
        String source = ArchiveSource.of(script.where(unpack), unpack.source());
        Path staged = staged();
        Path content = FileTree.privateDirectory(staged.resolve("content"));
        ArchiveUnpacker.unpack(unpack.archive(), content, ArchiveUnpacker.Bounds.COPY);
        new RootTree(staged).directory("/").directory("/content");
        return work(
                step,
                Map.of(),
                Map.of("/run/berth-build/copy", "copy"),
                "unpack",
                unpack.owner().orElse(step.user()),
                "content/" + source,
                unpack.target().endsWith("/") && !unpack.target().equals("/")
                        ? Path.of(step.workdir()).resolve(unpack.target()) + "/"
                        : Path.of(step.workdir()).resolve(unpack.target()).toString(),
                unpack.mode().isPresent() ? Integer.toOctalString(unpack.mode().getAsInt()) : "");
    }

    /** Starts what each sandbox will start, in a network of its own, and waits until it says that it is ready. */
    private void checkStart() throws IOException {
        String command = plan.ready().orElseThrow();
        String text = "ready " + command;
        begin(text);
        long started = System.nanoTime();
        Path files = scratch.resolve("files");
        FileTree.delete(files);
        Map<String, String> env = new TreeMap<>(plan.env());
        StepContainer.Work work = new StepContainer.Work(
                List.of(
                        "ready",
                        plan.user(),
                        plan.workdir(),
                        Long.toString(READY_PATIENCE.toSeconds()),
                        command,
                        plan.start().map(List::getLast).orElse("")),
                "/",
                env,
                Map.of());
        ExternalCommand.Ended ended =
                container.run(lower, files, work, StepContainer.Way.NONE, place.yard(), this::output);
        FileTree.delete(files);
        if (!ended.ok()) {
            throw SandboxException.invalid("the ready command '" + command + "' did not succeed"
                    + (ended.status() == NEVER_READY ? " within " + READY_PATIENCE.toMinutes() + " minutes" : "")
                    + (ended.lastLines().isEmpty()
                            ? "; nothing was written meanwhile"
                            : "; what was written last:\n  " + String.join("\n  ", ended.lastLines())));
        }
        end(text, false, started);
    }

    private StepContainer.Work packages(BuildPlan.Step step, Instruction.Packages packages) throws IOException {
        // what apt downloads and works out is of no use in a template, so it goes elsewhere
        Map<String, String> mounts = Map.of("/var/lib/apt/lists", "apt-lists", "/var/cache/apt", "apt-cache");
        for (String directory : mounts.values()) {
            new RootTree(scratch).directory("/" + directory);
        }
        Map<String, String> env = new TreeMap<>(network.aptEnv());
        env.put("BERTH_MAIN", sources.main());
        env.put("BERTH_SECURITY", sources.security());
        List<String> arguments = new ArrayList<>(List.of("package"));
        arguments.addAll(packages.names());
        boolean hasApt = beginning.readOnlyHostPaths().isEmpty();
        return work(step, env, hasApt ? mounts : Map.of(), arguments.toArray(String[]::new));
    }

    /** The template's own variables win over those of the build. */
    private static StepContainer.Work work(
            BuildPlan.Step step, Map<String, String> extra, Map<String, String> mounts, String... arguments) {
        Map<String, String> env = new TreeMap<>(extra);
        env.putAll(step.env());
        String workdir = step.instruction() instanceof Instruction.Run ? step.workdir() : "/";
        return new StepContainer.Work(List.of(arguments), workdir, env, mounts);
    }

    private Template publish(String name) throws IOException {
        String text = "publish " + name;
        begin(text);
        long started = System.nanoTime();
        Path finished = FileTree.privateDirectory(scratch.resolve("template"));
        Path root = FileTree.privateDirectory(finished.resolve(TemplateJson.ROOT));
        container.flatten(lower, root, this::output).orThrow();
        RootTree tree = new RootTree(root).mountPoints();
        requireUser(tree);
        if (plan.start().isPresent()) {
            prepareLog(tree, root);
        }
        Template draft = new Template(
                name,
                0,
                root,
                beginning.readOnlyHostPaths(),
                plan.env(),
                plan.workdir(),
                plan.user(),
                hasSudo(root),
                plan.start(),
                plan.ready(),
                java.time.Instant.EPOCH,
                0,
                plan.recipe());
        Template published = store.publish(finished, draft);
        end(text, false, started);
        return published;
    }

    private void requireUser(RootTree tree) throws IOException {
        boolean known = tree.read("/etc/passwd").lines().anyMatch(line -> line.startsWith(plan.user() + ":"));
        if (!known) {
            throw SandboxException.invalid(script.source() + ": there is no user '" + plan.user()
                    + "' in the finished template; make one with 'run useradd --create-home " + plan.user() + "'");
        }
    }

    /** What the start command writes is the template's user's, who may not make files there. */
    private void prepareLog(RootTree tree, Path root) throws IOException {
        Accounts.Account account = new Accounts(() -> root).find(plan.user()).orElseThrow();
        tree.directory("/var").directory("/var/log");
        tree.file(Template.START_LOG, new byte[0], 0644, account.uid(), account.gid());
    }

    /** A set-user-id sudo is what no-new-privileges would make useless. */
    private static boolean hasSudo(Path root) throws IOException {
        Path sudo = root.resolve("usr/bin/sudo");
        return Files.isRegularFile(sudo, LinkOption.NOFOLLOW_LINKS)
                && ((int) Files.getAttribute(sudo, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 04000) != 0;
    }

    private void begin(String text) {
        number++;
        progress.accept(new BuildEvent.StepStarted(number, total, text));
    }

    private void output(String line) {
        progress.accept(new BuildEvent.StepOutput(number, total, line));
    }

    private void end(String text, boolean cached, long started) {
        Duration took = Duration.ofNanos(System.nanoTime() - started);
        progress.accept(new BuildEvent.StepFinished(number, total, text, cached, took));
    }

    private SandboxException failed(Instruction instruction, ExternalCommand.Ended ended) {
        boolean ours = !(instruction instanceof Instruction.Packages || instruction instanceof Instruction.From);
        String why = ended.timedOut() ? "took too long and was ended" : "ended with status " + ended.status();
        return new SandboxException(
                ended.timedOut() ? ErrorCode.TIMEOUT : ours ? ErrorCode.INVALID : ErrorCode.UNAVAILABLE,
                script.where(instruction) + ": '" + instruction.text() + "' " + why
                        + (ended.lastLines().isEmpty()
                                ? " and wrote nothing"
                                : "; it last wrote:\n  " + String.join("\n  ", ended.lastLines())));
    }
}
