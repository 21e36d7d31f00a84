package dev.berth.sandbox.local.template;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
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
    private final TemplateStore store;
    private final LayerCache cache;
    private final Path scratch;
    private final BuildNetwork network;
    private final TemplateFile file;
    private final Optional<Template> parent;
    private final BuildPlan plan;
    private final Consumer<BuildEvent> progress;
    private final AptSources sources;
    private final StepContainer container;
    /** The layers so far, topmost first, as overlayfs wants them. */
    private final List<String> lower = new ArrayList<>();

    private final int total;
    private int number;

    BuildRun(
            TemplateStore store,
            LayerCache cache,
            Path scratch,
            BuildNetwork network,
            TemplateFile file,
            Optional<Template> parent,
            BuildPlan plan,
            Consumer<BuildEvent> progress)
            throws IOException {
        this.store = store;
        this.cache = cache;
        this.scratch = scratch;
        this.network = network;
        this.file = file;
        this.parent = parent;
        this.plan = plan;
        this.progress = progress;
        this.sources = AptSources.ofHost();
        this.container = new StepContainer(
                cache.directory(),
                scratch,
                network,
                parent.map(Template::readOnlyHostPaths).orElse(List.of()));
        this.total = plan.steps().size() + 2;
    }

    Template build(String name, boolean fresh) throws IOException {
        String below = first(fresh);
        for (BuildPlan.Step step : plan.steps()) {
            below = layer(step.key(), below, step.instruction(), fresh, files -> work(step, files));
        }
        return publish(name);
    }

    private interface Making {
        ExternalCommand.Ended make(Path files) throws IOException;
    }

    private String first(boolean fresh) throws IOException {
        return switch (file.from()) {
            case Instruction.FromDebian debian -> {
                DebianBootstrap bootstrap = new DebianBootstrap(sources, network.aptProxies());
                yield layer(
                        plan.firstKey(),
                        "",
                        debian,
                        fresh,
                        files -> bootstrap.make(debian.suite(), files, this::output));
            }
            case Instruction.FromTemplate template -> {
                begin(template.text());
                lower.add(cache.directory()
                        .relativize(parent.orElseThrow().root())
                        .toString());
                end(template.text(), true, System.nanoTime());
                yield plan.firstKey();
            }
        };
    }

    /** Finds the layer of a step, or makes it; gives the id that the next one builds on. */
    private String layer(String key, String below, Instruction instruction, boolean fresh, Making making)
            throws IOException {
        begin(instruction.text());
        long started = System.nanoTime();
        Optional<LayerCache.Layer> cached = fresh ? Optional.empty() : cache.find(key, below);
        LayerCache.Layer layer;
        if (cached.isPresent()) {
            layer = cached.get();
        } else {
            Path files = scratch.resolve("files");
            FileTree.delete(files);
            ExternalCommand.Ended ended = making.make(files);
            if (!ended.ok()) {
                throw failed(instruction, ended);
            }
            layer = cache.keep(key, below, files, scratch);
        }
        lower.addFirst(layer.lower());
        end(instruction.text(), cached.isPresent(), started);
        return layer.id();
    }

    private ExternalCommand.Ended work(BuildPlan.Step step, Path files) throws IOException {
        StepContainer.Work work = switch (step.instruction()) {
            case Instruction.Run run -> work(step, network.env(), Map.of(), "run", step.user(), run.command());
            case Instruction.Workdir workdir -> work(step, Map.of(), Map.of(), "workdir", step.user(), workdir.path());
            case Instruction.Copy copy -> copy(step, copy);
            case Instruction.Packages packages -> packages(step, packages);
            case Instruction other -> throw new IllegalStateException("changes no files: " + other);
        };
        return container.run(lower, files, work, this::output);
    }

    private StepContainer.Work copy(BuildPlan.Step step, Instruction.Copy copy) throws IOException {
        CopySource source = CopySource.of(file, copy);
        Path staged = scratch.resolve("copy");
        FileTree.delete(staged);
        FileTree.privateDirectory(staged);
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
        boolean hasApt = parent.map(t -> t.readOnlyHostPaths().isEmpty()).orElse(true);
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
        Template draft = new Template(
                name,
                0,
                root,
                parent.map(Template::readOnlyHostPaths).orElse(List.of()),
                plan.env(),
                plan.workdir(),
                plan.user(),
                hasSudo(root),
                plan.start(),
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
            throw SandboxException.invalid(file.source() + ": there is no user '" + plan.user()
                    + "' in the finished template; make one with 'run useradd --create-home " + plan.user() + "'");
        }
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
        boolean ours = instruction instanceof Instruction.Run || instruction instanceof Instruction.Copy;
        String why = ended.timedOut() ? "took too long and was ended" : "ended with status " + ended.status();
        return new SandboxException(
                ended.timedOut() ? ErrorCode.TIMEOUT : ours ? ErrorCode.INVALID : ErrorCode.UNAVAILABLE,
                file.source() + " line " + instruction.line() + ": '" + instruction.text() + "' " + why
                        + (ended.lastLines().isEmpty()
                                ? " and wrote nothing"
                                : "; it last wrote:\n  " + String.join("\n  ", ended.lastLines())));
    }
}
