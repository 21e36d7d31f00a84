package dev.berth.gateway.e2b.envd;

import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * The part of {@code filesystem.Filesystem} that watches directories: as a stream, or for clients that come and ask. A watch
 * of the latter is over when its sandbox goes down, and when nobody asked for long, as nobody else would end it.
 */
final class WatchService implements AutoCloseable {
    private static final int MOST_OF_A_SANDBOX = 64;
    /** Fewer than there is memory for: a watch has an inotify instance, and kernels give a user some hundreds of them. */
    private static final int MOST = 1024;

    private final Downfalls downfalls;
    private final Duration longestUnasked;
    private final SecureRandom random;
    private final WatchLimit limit = new WatchLimit(MOST_OF_A_SANDBOX, MOST);
    private final Map<String, Watcher> watchers = new ConcurrentHashMap<>();

    private static final class Watcher {
        private final SessionKey sandbox;
        private final FileWatch watch;
        private final WatchLimit.Taken taken;
        private volatile Session.Watch down = () -> {};
        private volatile long askedAt = System.nanoTime();

        Watcher(SessionKey sandbox, FileWatch watch, WatchLimit.Taken taken) {
            this.sandbox = sandbox;
            this.watch = watch;
            this.taken = taken;
        }

        void close() {
            down.close();
            watch.close();
            taken.close();
        }
    }

    /** @param longestUnasked after which a watch that clients have to ask is given up */
    WatchService(Downfalls downfalls, Duration longestUnasked, SecureRandom random) {
        this.downfalls = downfalls;
        this.longestUnasked = longestUnasked;
        this.random = random;
    }

    void methods(BiConsumer<String, Connect.Method> add) {
        add.accept("/filesystem.Filesystem/WatchDir", (Connect.Method.Streaming) this::watchDir);
        add.accept("/filesystem.Filesystem/CreateWatcher", (Connect.Method.Unary) this::createWatcher);
        add.accept("/filesystem.Filesystem/GetWatcherEvents", (Connect.Method.Unary) this::watcherEvents);
        add.accept("/filesystem.Filesystem/RemoveWatcher", (Connect.Method.Unary) this::removeWatcher);
    }

    /** Of {@code allowNetworkMounts} nothing follows: no sandbox of ours has such a mount. */
    private static FileWatch open(Visit visit, Message request) {
        String path = UserPath.of(visit.account(), request.text("path").orElse(""));
        return new FileWatch(
                visit.sandbox(), path, request.flag("recursive", false), request.flag("includeEntry", false));
    }

    private void watchDir(Visit visit, Message request, EventStream out) {
        Terms terms = Terms.of(visit.call());
        try (WatchLimit.Taken _ = limit.take(visit.session().key());
                FileWatch watch = open(visit, request);
                Downfalls.Watch down = downfalls.watch(visit, watch::wake)) {
            out.send(Map.of("start", Map.of()));
            while (true) {
                Optional<Map<String, Object>> event = watch.next(terms.patience());
                down.check();
                if (event.isPresent()) {
                    out.send(Map.of("filesystem", event.get()));
                    terms.spoke();
                }
                terms.check();
                if (terms.silent()) {
                    out.send(Map.of("keepalive", Map.of()));
                    terms.spoke();
                }
            }
        }
    }

    private Object createWatcher(Visit visit, Message request) {
        SessionKey sandbox = visit.session().key();
        WatchLimit.Taken taken = limit.take(sandbox);
        Watcher watcher;
        try {
            watcher = new Watcher(sandbox, open(visit, request), taken);
        } catch (RuntimeException e) {
            taken.close();
            throw e;
        }
        String id = "w" + Long.toUnsignedString(random.nextLong(), 36) + Long.toUnsignedString(random.nextLong(), 36);
        watchers.put(id, watcher);
        watcher.down = visit.session().whenDown(() -> remove(id));
        giveUpUnasked(id, watcher, longestUnasked);
        return Map.of("watcherId", id);
    }

    private void giveUpUnasked(String id, Watcher watcher, Duration after) {
        CompletableFuture.delayedExecutor(
                        after.toMillis(),
                        TimeUnit.MILLISECONDS,
                        task -> Thread.ofVirtual().name("watcher of files").start(task))
                .execute(() -> {
                    if (!watchers.containsKey(id)) {
                        return;
                    }
                    Duration left = longestUnasked.minusNanos(System.nanoTime() - watcher.askedAt);
                    if (left.isPositive()) {
                        giveUpUnasked(id, watcher, left.plusMillis(1));
                    } else {
                        remove(id);
                    }
                });
    }

    private void remove(String id) {
        Watcher watcher = watchers.remove(id);
        if (watcher != null) {
            watcher.close();
        }
    }

    private Object watcherEvents(Visit visit, Message request) {
        Watcher watcher = find(visit, id(request));
        watcher.askedAt = System.nanoTime();
        return Map.of("events", watcher.watch.all());
    }

    private Object removeWatcher(Visit visit, Message request) {
        String id = id(request);
        find(visit, id);
        remove(id);
        return Map.of();
    }

    private static String id(Message request) {
        return request.text("watcherId").orElse("");
    }

    /** One of this sandbox: that of another is as unknown as any. */
    private Watcher find(Visit visit, String id) {
        return Optional.ofNullable(watchers.get(id))
                .filter(watcher -> watcher.sandbox.equals(visit.session().key()))
                .orElseThrow(() -> ConnectError.notFound("watcher with id " + id + " not found"));
    }

    @Override
    public void close() {
        watchers.keySet().forEach(this::remove);
    }
}
