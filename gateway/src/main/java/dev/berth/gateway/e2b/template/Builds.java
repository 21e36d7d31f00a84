package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateInfo;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.Templates;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The builds of this server at work. What they are made of is in memory only, so one that was at work when the server ended
 * has failed: no server says of it any more that it goes on, and that is how others know.
 */
final class Builds implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Builds.class);
    private static final int AT_A_TIME = 4;
    private static final int MOST_OF_A_TENANT = 20;
    private static final Duration FLUSH = Duration.ofMillis(200);
    private static final Duration BEAT = Duration.ofSeconds(5);
    private static final Duration SILENCE = Duration.ofSeconds(20);
    private static final Duration CLOSING = Duration.ofSeconds(20);

    private final Templates provider;
    private final TemplateCatalog catalog;
    private final BuildTable table;
    private final InstantSource clock;
    private final Semaphore permits = new Semaphore(AT_A_TIME, true);
    private final Map<UUID, Work> working = new ConcurrentHashMap<>();
    private final Thread scribe;

    private record Work(Thread thread, BuildLog log) {}

    Builds(Templates provider, TemplateCatalog catalog, InstantSource clock) {
        this.provider = provider;
        this.catalog = catalog;
        this.table = catalog.builds();
        this.clock = clock;
        this.scribe = Thread.ofVirtual().name("template builds").start(this::write);
    }

    void start(String tenant, BuildRow build, TemplateSpec spec) {
        if (table.unfinished(tenant) >= MOST_OF_A_TENANT) {
            throw SandboxException.limit(
                    "at most " + MOST_OF_A_TENANT + " templates are built at a time; wait until one is done");
        }
        if (!table.begin(build.id())) {
            throw new E2bError(409, "build '" + build.id() + "' was started before; ask for another one");
        }
        BuildLog log = new BuildLog(table, build.id(), clock);
        Thread thread = Thread.ofVirtual().name("template build " + build.id()).unstarted(() -> run(build, spec, log));
        working.put(build.id(), new Work(thread, log));
        thread.start();
    }

    private void run(BuildRow build, TemplateSpec spec, BuildLog log) {
        try {
            if (!permits.tryAcquire()) {
                log.line("info", "other templates are being built; waiting for one of them to be done");
                permits.acquire();
            }
            try {
                TemplateInfo made = provider.build(spec, log::accept);
                log.flush();
                boolean _ = catalog.ready(build, made);
            } finally {
                permits.release();
            }
        } catch (SandboxException e) {
            fail(build, log, e.getMessage(), Optional.ofNullable(e.details().get(BuildEvent.STEP)));
            if (e.code() == ErrorCode.UNAVAILABLE) {
                LOG.atWarn().addKeyValue("build", build.id()).setCause(e).log("template.build.failed");
            }
        } catch (InterruptedException e) {
            fail(build, log, "the server that built it was stopped; build it again", Optional.empty());
        } catch (RuntimeException e) {
            LOG.atError().addKeyValue("build", build.id()).setCause(e).log("template.build.failed");
            fail(build, log, "this should not have happened; the server's log has more", Optional.empty());
        } finally {
            working.remove(build.id());
        }
    }

    private void fail(BuildRow build, BuildLog log, String why, Optional<Object> step) {
        try {
            log.line("error", why);
            log.flush();
            table.fail(build.id(), why, step.map(Object::toString));
        } catch (RuntimeException e) {
            // It is failed by whoever finds that nobody works at it.
            LOG.atWarn().addKeyValue("build", build.id()).setCause(e).log("template.build.lost");
        }
    }

    /** Writes down what builds tell, and that they go on. */
    private void write() {
        long beaten = System.nanoTime() - BEAT.toNanos();
        while (!Thread.currentThread().isInterrupted()) {
            try {
                Thread.sleep(FLUSH);
                working.values().forEach(work -> work.log.flush());
                if (System.nanoTime() - beaten >= BEAT.toNanos()) {
                    beaten = System.nanoTime();
                    beat();
                }
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                LOG.atWarn().setCause(e).log("template.builds.unwritten");
            }
        }
    }

    private void beat() {
        if (!working.isEmpty()) {
            table.beat(List.copyOf(working.keySet()));
        }
        int lost = table.failLost(SILENCE);
        if (lost > 0) {
            LOG.atWarn().addKeyValue("count", lost).log("template.builds.lost");
        }
    }

    /** Ends those at work. */
    @Override
    public void close() {
        working.values().forEach(work -> work.thread.interrupt());
        long deadline = System.nanoTime() + CLOSING.toNanos();
        try {
            for (Work work : List.copyOf(working.values())) {
                boolean _ = work.thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            }
            scribe.interrupt();
            scribe.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
