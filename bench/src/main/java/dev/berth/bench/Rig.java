package dev.berth.bench;

import dev.berth.bench.rival.Crun;
import dev.berth.bench.rival.Docker;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.Spawn;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What measurements work with: a provider without a warm pool, and the rivals. Made when first asked for. */
final class Rig implements AutoCloseable {
    private static final long POOL_BYTES = 40L << 30;
    private static final Command TRUE = Command.shell("true");

    private final BenchOptions options;
    private final Template template;
    private final Progress progress;
    private final Path scratch;
    private @Nullable Site site;
    private @Nullable Crun crun;
    private @Nullable Docker docker;
    private int names;

    Rig(BenchOptions options, Progress progress) throws IOException {
        this.options = options;
        this.progress = progress;
        TemplateStore templates = new TemplateStore(options.templates());
        String name = options.template().orElseGet(() -> templates.find("base").isPresent() ? "base" : "host");
        this.template = templates.get(name);
        this.scratch = Files.createTempDirectory(Path.of("/var/tmp"), "berth-bench-");
        // PostgreSQL, which does not run as root, has its directory below this one.
        Files.setPosixFilePermissions(scratch, PosixFilePermissions.fromString("rwx--x--x"));
    }

    Scale scale() {
        return Scale.of(options.size());
    }

    Progress progress() {
        return progress;
    }

    Template template() {
        return template;
    }

    /** The one without a warm pool. */
    Site site() throws IOException {
        Site open = site;
        if (open == null) {
            open = openSite(0);
            site = open;
        }
        return open;
    }

    LocalProvider provider() throws IOException {
        return site().provider();
    }

    /** One more, which the caller closes. */
    Site openSite(int warm) throws IOException {
        return Site.open(data -> LocalConfig.of(data)
                .withTemplates(options.templates())
                .withRuntime(options.runtime())
                .withPoolBytes(POOL_BYTES)
                .withWarm(warm == 0 ? Map.of() : Map.of(template.name(), warm)));
    }

    /** Sessions on {@link #provider()}, which the caller closes. */
    SessionSite openSessions() throws IOException {
        return SessionSite.open(provider(), template.name(), scratch.resolve("sessions"), scratch.resolve("postgres"));
    }

    /** An empty one, which goes with the rig. */
    Path newDirectory() throws IOException {
        return Files.createTempDirectory(scratch, "");
    }

    /** A specification with a name that was not used before. */
    SandboxSpec spec() {
        names++;
        return SandboxSpec.of("bench-" + names, template.name());
    }

    Sandbox create() throws IOException {
        return provider().create(spec());
    }

    static void runTrue(Sandbox sandbox) {
        Result result = sandbox.run(TRUE);
        if (result.code() != 0) {
            throw new IllegalStateException("'true' failed in a sandbox: " + result.stderr());
        }
    }

    /** The yardstick of most of DESIGN's table. */
    static Contender bareSpawn() {
        return Contender.rival(Contender.BARE, Spawn.of("bash", "-c", "true")::run);
    }

    Crun crun() throws IOException {
        Crun made = crun;
        if (made == null) {
            made = Crun.like(create().id(), site().data(), scratch.resolve("crun"));
            crun = made;
        }
        return made;
    }

    /** Docker, if it was asked for. */
    Optional<Docker> docker() throws Exception {
        Docker started = docker;
        if (started == null && options.docker()) {
            progress.begin("starting a Docker engine");
            started = Docker.start(scratch.resolve("docker"), template);
            docker = started;
        }
        return Optional.ofNullable(started);
    }

    @Override
    public void close() throws IOException {
        progress.begin("cleaning up");
        try {
            if (docker != null) {
                docker.close();
            }
        } finally {
            if (site != null) {
                site.close();
            }
        }
        Directories.remove(scratch);
    }

    /** Waits for something the provider does by itself. */
    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("waited in vain until " + what);
            }
            Thread.sleep(1);
        }
    }
}
