package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.FileEvent;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxFiles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A directory that somebody watches, and what happened in it that he has not been told. That is a bounded number of things;
 * who takes them too slowly is told so, in place of what would have come next.
 */
final class FileWatch implements AutoCloseable {
    private static final int MOST_WAITING = 10_000;

    private final Sandbox sandbox;
    private final String above;
    private final int cut;
    private final boolean withEntries;
    private final BlockingQueue<FileEvent> waiting = new LinkedBlockingQueue<>(MOST_WAITING);
    private volatile boolean missed;
    private final SandboxFiles.Watch watch;

    /** @throws ConnectError if the path leads to no directory */
    FileWatch(Sandbox sandbox, String path, boolean recursive, boolean withEntries) {
        FileInfo directory = FilesystemService.directory(sandbox.files(), path);
        this.sandbox = sandbox;
        this.above = path.endsWith("/") ? path : path + "/";
        this.cut = directory.path().equals("/") ? 1 : directory.path().length() + 1;
        this.withEntries = withEntries;
        this.watch = sandbox.files().watch(directory.path(), recursive, this::put);
    }

    private void put(FileEvent event) {
        if (event.kind() == FileEvent.Kind.OVERFLOW || !waiting.offer(event)) {
            missed = true;
            wake();
        }
    }

    /** Wakes who waits in {@link #next}; where nothing fits in any more nobody waits. */
    void wake() {
        var _ = waiting.offer(new FileEvent(FileEvent.Kind.OVERFLOW, above));
    }

    /**
     * What happened next, if anything did for so long.
     *
     * @throws ConnectError if some of it is not known
     */
    Optional<Map<String, Object>> next(Duration patience) {
        try {
            FileEvent event = waiting.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
            if (event == null || event.kind() == FileEvent.Kind.OVERFLOW) {
                checkComplete();
                return Optional.empty();
            }
            return Optional.of(shown(event));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ConnectError.internal("watching was interrupted");
        }
    }

    /** All that happened since it was last asked. */
    List<Map<String, Object>> all() {
        checkComplete();
        List<FileEvent> events = new ArrayList<>();
        waiting.drainTo(events);
        return events.stream()
                .filter(event -> event.kind() != FileEvent.Kind.OVERFLOW)
                .map(this::shown)
                .toList();
    }

    private void checkComplete() {
        if (missed && waiting.stream().allMatch(event -> event.kind() == FileEvent.Kind.OVERFLOW)) {
            throw ConnectError.internal(
                    "watcher error: more happened at once than could be told; look at the directory and watch it again");
        }
    }

    private Map<String, Object> shown(FileEvent event) {
        Map<String, Object> shown = new LinkedHashMap<>();
        String name = event.path().length() > cut ? event.path().substring(cut) : ".";
        shown.put("name", name);
        shown.put(
                "type",
                switch (event.kind()) {
                    case CREATED -> "EVENT_TYPE_CREATE";
                    case WRITTEN -> "EVENT_TYPE_WRITE";
                    case REMOVED -> "EVENT_TYPE_REMOVE";
                    case RENAMED -> "EVENT_TYPE_RENAME";
                    case CHMOD -> "EVENT_TYPE_CHMOD";
                    case OVERFLOW -> throw new IllegalStateException("an overflow is nothing that is shown");
                });
        boolean stillThere = event.kind() != FileEvent.Kind.REMOVED && event.kind() != FileEvent.Kind.RENAMED;
        if (withEntries && stillThere) {
            new Entries(sandbox).find(above + name).ifPresent(entry -> shown.put("entry", entry));
        }
        return shown;
    }

    @Override
    public void close() {
        watch.close();
    }
}
