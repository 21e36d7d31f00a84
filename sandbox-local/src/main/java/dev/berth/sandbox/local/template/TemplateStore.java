package dev.berth.sandbox.local.template;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The templates of a directory, which several servers and commands may share.
 *
 * <p>{@code <directory>/<name>/<version>/} holds {@code template.json} and {@code root/}. A version appears there by one
 * rename of a finished directory and goes by one rename into {@code .trash}, so a reader, who takes no lock, sees whole
 * templates only, whatever was killed when. Two locks: {@code .lock} is held for moments, around those renames;
 * {@code .build.lock} is held by a builder for as long as it works.
 */
public final class TemplateStore {
    private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,8}");

    private final Path directory;
    private final HostTemplate host;
    private final Clock clock;
    /** What was read, by directory; a published version does not change, but may be removed and its number used again. */
    private final ConcurrentHashMap<Path, Read> read = new ConcurrentHashMap<>();

    private record Read(Object identity, Template template) {}

    /** For how long the machine is believed not to have changed: a burst of sandboxes looks at it once. */
    private static final Duration FRESH = Duration.ofSeconds(1);

    private final Duration fresh;
    private volatile @Nullable Fresh freshHost;

    private record Fresh(Template template, long since) {}

    public TemplateStore(Path directory) {
        this(directory, Path.of("/"), Clock.systemUTC(), FRESH);
    }

    TemplateStore(Path directory, Path hostRoot, Clock clock) {
        this(directory, hostRoot, clock, Duration.ZERO);
    }

    private TemplateStore(Path directory, Path hostRoot, Clock clock, Duration fresh) {
        this.fresh = fresh;
        this.directory = directory.toAbsolutePath().normalize();
        this.host = new HostTemplate(hostRoot);
        this.clock = clock;
    }

    public Path directory() {
        return directory;
    }

    /** All templates, by name, the newest version first. {@code host} is among them wherever the machine can have it. */
    public List<Template> list() {
        try {
            ensureHost();
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.UNSUPPORTED) {
                throw e;
            }
        }
        List<Template> templates = new ArrayList<>();
        for (String name : names()) {
            versions(name).forEach(version -> load(name, version).ifPresent(templates::add));
        }
        return templates;
    }

    /** The template of this name, or name and version; the newest version when none is named. */
    public Optional<Template> find(String nameOrId) {
        TemplateName wanted = TemplateName.parse(nameOrId);
        if (wanted.version().isPresent()) {
            return load(wanted.name(), wanted.version().getAsInt());
        }
        return wanted.name().equals(HostTemplate.NAME) ? Optional.of(ensureHost()) : newest(wanted.name());
    }

    /** As {@link #find}, but one that is not there is an error that says what to do. */
    public Template get(String nameOrId) {
        return find(nameOrId).orElseThrow(() -> {
            boolean shipped =
                    TemplateFile.shipped(TemplateName.parse(nameOrId).name()).isPresent();
            return SandboxException.notFound("there is no template '" + nameOrId + "'; "
                    + (shipped
                            ? "build it with 'berth template build "
                                    + TemplateName.parse(nameOrId).name() + "'"
                            : "'berth template ls' lists those there are"));
        });
    }

    /** What is used when nobody asks for another one: {@code base} when it is built, else {@code host}. */
    public Template defaultTemplate() {
        return newest("base").orElseGet(this::ensureHost);
    }

    /**
     * Removes one version, or all versions when none is named. Nothing is removed when one of them is in use: by what
     * the caller says, or because it is the lower layer of a mounted root on this machine.
     *
     * @return what was removed
     */
    public List<Template> remove(String nameOrId, Predicate<Template> inUse) {
        TemplateName wanted = TemplateName.parse(nameOrId);
        prepare();
        try (ProcessLock _ = ProcessLock.tryAcquire(buildLock())
                        .orElseThrow(() -> SandboxException.conflict("could not remove the template " + nameOrId
                                + ": one is being built right now; try again when that is done"));
                ProcessLock _ = ProcessLock.acquire(lockFile())) {
            List<Template> doomed = new ArrayList<>();
            for (int version : versions(wanted.name())) {
                if (wanted.version().isEmpty() || wanted.version().getAsInt() == version) {
                    load(wanted.name(), version).ifPresent(doomed::add);
                }
            }
            if (doomed.isEmpty()) {
                throw SandboxException.notFound("there is no template '" + nameOrId + "'");
            }
            List<Path> mounted = MountedLayers.lowerDirectories();
            for (Template template : doomed) {
                if (inUse.test(template) || mounted.contains(template.root())) {
                    throw SandboxException.conflict("could not remove the template " + template.id()
                            + ": a sandbox uses it; destroy its sandboxes first");
                }
            }
            for (Template template : doomed) {
                Path from = versionDirectory(template.name(), template.version());
                Files.move(from, trash().resolve(UUID.randomUUID().toString()), StandardCopyOption.ATOMIC_MOVE);
                read.remove(from);
            }
            if (versions(wanted.name()).isEmpty()) {
                FileTree.delete(directory.resolve(wanted.name()));
            }
            FileTree.deleteChildren(trash());
            return doomed;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not remove the template " + nameOrId + ": " + e.getMessage(), e);
        }
    }

    /**
     * Removes the results of build steps that are kept for the next build. Templates do not need them.
     *
     * @return the bytes that became free
     */
    public long clearCache() {
        prepare();
        try (ProcessLock _ = ProcessLock.tryAcquire(buildLock())
                .orElseThrow(() -> SandboxException.conflict(
                        "could not clear the build cache: a template is being built; try again when that is done"))) {
            long size = Files.isDirectory(cacheDirectory()) ? FileTree.size(cacheDirectory()) : 0;
            FileTree.delete(cacheDirectory());
            return size;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not clear the build cache: " + e.getMessage(), e);
        }
    }

    /** The newest version by this name, without making one. */
    Optional<Template> newest(String name) {
        for (int version : versions(name)) {
            Optional<Template> template = load(name, version);
            if (template.isPresent()) {
                return template;
            }
        }
        return Optional.empty();
    }

    /**
     * Puts a finished directory, with its {@code root/} inside, in place as the next version.
     *
     * @param draft the template but for its version, root, time and size, which are set here
     */
    Template publish(Path finished, Template draft) throws IOException {
        long size = FileTree.size(finished.resolve(TemplateJson.ROOT));
        Disk.flush(finished);
        prepare();
        try (ProcessLock _ = ProcessLock.acquire(lockFile())) {
            return publishLocked(finished, draft, size);
        }
    }

    Path buildLock() {
        return directory.resolve(".build.lock");
    }

    Path buildDirectory() {
        return directory.resolve(".build");
    }

    Path cacheDirectory() {
        return directory.resolve(".cache");
    }

    /** Makes the directories that have to be there before anything is written. */
    void prepare() {
        try {
            FileTree.privateDirectory(directory);
            FileTree.privateDirectory(trash());
            FileTree.privateDirectory(staging());
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not make the templates directory " + directory + ": " + e.getMessage(), e);
        }
    }

    private Template publishLocked(Path finished, Template draft, long size) throws IOException {
        int version = versions(draft.name()).stream().findFirst().orElse(0) + 1;
        Path target = versionDirectory(draft.name(), version);
        Template template = new Template(
                draft.name(),
                version,
                target.resolve(TemplateJson.ROOT),
                draft.readOnlyHostPaths(),
                draft.env(),
                draft.workdir(),
                draft.user(),
                draft.sudo(),
                draft.start(),
                draft.ready(),
                clock.instant(),
                size,
                draft.recipe());
        TemplateJson.of(template).write(finished);
        FileTree.privateDirectory(directory.resolve(draft.name()));
        Files.move(finished, target, StandardCopyOption.ATOMIC_MOVE);
        return template;
    }

    private Template ensureHost() {
        try {
            Fresh known = freshHost;
            if (known != null
                    && System.nanoTime() - known.since < fresh.toNanos()
                    && Files.exists(known.template.root())) {
                return known.template;
            }
            String recipe = host.recipe();
            Optional<Template> current =
                    newest(HostTemplate.NAME).filter(t -> t.recipe().equals(recipe));
            Template template = current.isPresent() ? current.get() : makeHost(recipe);
            freshHost = new Fresh(template, System.nanoTime());
            return template;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not make the template 'host': " + e.getMessage(), e);
        }
    }

    private Template makeHost(String recipe) throws IOException {
        prepare();
        try (ProcessLock _ = ProcessLock.acquire(lockFile())) {
            Optional<Template> made =
                    newest(HostTemplate.NAME).filter(t -> t.recipe().equals(recipe));
            if (made.isPresent()) {
                return made.get();
            }
            FileTree.deleteChildren(staging());
            FileTree.deleteChildren(trash());
            Path finished = FileTree.privateDirectory(staging().resolve(HostTemplate.NAME));
            host.write(finished.resolve(TemplateJson.ROOT));
            Disk.flush(finished);
            Template draft = new Template(
                    HostTemplate.NAME,
                    0,
                    finished,
                    host.readOnlyHostPaths(),
                    host.env(),
                    "/home/user",
                    "user",
                    false,
                    Optional.empty(),
                    Optional.empty(),
                    clock.instant(),
                    0,
                    recipe);
            return publishLocked(finished, draft, FileTree.size(finished.resolve(TemplateJson.ROOT)));
        }
    }

    private Optional<Template> load(String name, int version) {
        Path from = versionDirectory(name, version);
        try {
            BasicFileAttributes stat = Files.readAttributes(from.resolve(TemplateJson.FILE), BasicFileAttributes.class);
            Object identity = List.of(String.valueOf(stat.fileKey()), stat.lastModifiedTime());
            Read known = read.get(from);
            if (known != null && known.identity().equals(identity)) {
                return Optional.of(known.template());
            }
            Template template = TemplateJson.read(from, name, version);
            read.put(from, new Read(identity, template));
            return Optional.of(template);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read the template in " + from + ": " + e.getMessage(), e);
        }
    }

    private List<String> names() {
        return entries(directory).stream()
                .filter(name -> !name.startsWith("."))
                .sorted()
                .toList();
    }

    /** Newest first. */
    private List<Integer> versions(String name) {
        return entries(directory.resolve(name)).stream()
                .filter(entry -> VERSION.matcher(entry).matches())
                .map(Integer::valueOf)
                .sorted(Comparator.reverseOrder())
                .toList();
    }

    private static List<String> entries(Path directory) {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (var children = Files.list(directory)) {
            return children.map(child -> String.valueOf(child.getFileName())).toList();
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read " + directory + ": " + e.getMessage(), e);
        }
    }

    private Path versionDirectory(String name, int version) {
        return directory.resolve(name).resolve(Integer.toString(version));
    }

    private Path lockFile() {
        return directory.resolve(".lock");
    }

    private Path trash() {
        return directory.resolve(".trash");
    }

    private Path staging() {
        return directory.resolve(".staging");
    }
}
