package dev.berth.sandbox.local.files;

import dev.berth.sandbox.FileEvent;
import dev.berth.sandbox.FileEvent.Kind;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports what happens in a directory, on a thread of its own.
 *
 * <p>A directory that appears in a recursive watch may have got files before it was watched, so it is read, and what is
 * found is reported as created. Some of that may be in the queue, too, as created after the watch was on: it is
 * remembered until the queue was empty once, and not reported twice.
 *
 * <p>{@link RootFiles} puts files in place by renaming a hidden one. That shows as the write it is for the caller:
 * {@code WRITTEN}, after {@code CREATED} if the file is new.
 *
 * <p>The listener is called on the watch's thread. If it is slow the kernel's queue overflows, and that is reported.
 */
final class InotifyWatch implements SandboxFiles.Watch {
    private static final Logger log = LoggerFactory.getLogger(InotifyWatch.class);

    /** How long closing waits for a listener that is busy. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private static final int MOST_ANNOUNCED = 100_000;

    private final SandboxPath path;
    private final boolean recursive;
    private final Consumer<FileEvent> listener;
    private final Inotify inotify;
    private final WatchedTree tree;

    private final Thread thread =
            Thread.ofPlatform().daemon().name("file-watch").unstarted(this::run);

    private volatile boolean closed;
    /** Guarded by this: no bell is rung once its descriptor may be another's. */
    private boolean ended;

    private final Set<SandboxPath> announced = new HashSet<>();
    private @Nullable FileEvent last;
    private int placing;
    private boolean placingReplacement;

    private InotifyWatch(
            SandboxPath path, boolean recursive, Consumer<FileEvent> listener, Inotify inotify, WatchedTree tree) {
        this.path = path;
        this.recursive = recursive;
        this.listener = listener;
        this.inotify = inotify;
        this.tree = tree;
    }

    static InotifyWatch start(
            Supplier<Resolver> root, SandboxPath path, boolean recursive, Consumer<FileEvent> listener)
            throws ErrnoException {
        Inotify inotify = Inotify.open();
        try {
            WatchedTree tree = new WatchedTree(root, path, recursive, inotify);
            tree.addAll();
            InotifyWatch watch = new InotifyWatch(path, recursive, listener, inotify, tree);
            watch.thread.start();
            return watch;
        } catch (ErrnoException | RuntimeException | Error e) {
            inotify.close();
            throw e;
        }
    }

    /** No event is reported after this, unless the listener takes very long over one. It may close the watch itself. */
    @Override
    public void close() {
        closed = true;
        wake();
        if (!thread.equals(Thread.currentThread())) {
            try {
                thread.join(PATIENCE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void wake() {
        if (!ended) {
            try {
                inotify.wake();
            } catch (ErrnoException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private void run() {
        try {
            while (!closed) {
                inotify.await();
                drain();
            }
        } catch (ErrnoException | RuntimeException e) {
            log.error("the watch of {} ended", path, e);
            report(Kind.OVERFLOW, path);
        } finally {
            synchronized (this) {
                ended = true;
                inotify.close();
            }
        }
    }

    private void drain() throws ErrnoException {
        List<Inotify.Event> events = inotify.read();
        while (!closed && !events.isEmpty()) {
            for (Inotify.Event event : events) {
                handle(event);
            }
            events = inotify.read();
        }
        announced.clear();
        last = null;
    }

    private void handle(Inotify.Event event) {
        if (event.is(Inotify.IN_Q_OVERFLOW)) {
            // In this order: whoever looks again when told misses nothing that comes after.
            attempt(tree::addAll);
            report(Kind.OVERFLOW, path);
            return;
        }
        WatchedTree.Directory directory = tree.get(event.watch());
        if (directory == null) {
            return;
        }
        if (event.is(Inotify.IN_IGNORED)) {
            tree.forget(event.watch());
        } else if (event.name().length > 0) {
            handleEntry(event, directory.child(event.name()));
        } else if (directory.isTop()) {
            handleTop(event);
        }
    }

    private void handleTop(Inotify.Event event) {
        if (event.is(Inotify.IN_DELETE_SELF)) {
            report(Kind.REMOVED, path);
        } else if (event.is(Inotify.IN_MOVE_SELF)) {
            report(Kind.RENAMED, path);
        } else if (event.is(Inotify.IN_UNMOUNT)) {
            report(Kind.OVERFLOW, path);
        }
    }

    private void handleEntry(Inotify.Event event, WatchedTree.Directory entry) {
        String name = entry.shown().lastComponent();
        if (TemporaryName.matches(name)) {
            if (event.is(Inotify.IN_MOVED_FROM)) {
                placing = event.cookie();
                placingReplacement = TemporaryName.isReplacement(name);
            }
        } else if (event.is(Inotify.IN_MOVED_TO) && event.cookie() == placing) {
            if (!placingReplacement) {
                created(entry.shown());
            }
            last = null;
            report(Kind.WRITTEN, entry.shown());
        } else if (event.is(Inotify.IN_CREATE | Inotify.IN_MOVED_TO)) {
            created(entry.shown());
            if (recursive && event.is(Inotify.IN_ISDIR)) {
                attempt(() -> tree.add(entry, this::found));
            }
        } else if (event.is(Inotify.IN_DELETE)) {
            announced.remove(entry.shown());
            report(Kind.REMOVED, entry.shown());
        } else if (event.is(Inotify.IN_MOVED_FROM)) {
            announced.remove(entry.shown());
            report(Kind.RENAMED, entry.shown());
            tree.removeBelow(entry.shown());
        } else if (event.is(Inotify.IN_MODIFY)) {
            report(Kind.WRITTEN, entry.shown());
        } else if (event.is(Inotify.IN_ATTRIB)) {
            report(Kind.CHMOD, entry.shown());
        }
    }

    private void found(SandboxPath entry) {
        if (announced.size() >= MOST_ANNOUNCED) {
            throw SandboxException.limit("more than " + MOST_ANNOUNCED + " files appeared at once");
        }
        if (!TemporaryName.matches(entry.lastComponent()) && announced.add(entry)) {
            report(Kind.CREATED, entry);
        }
    }

    private void created(SandboxPath entry) {
        if (!announced.remove(entry)) {
            report(Kind.CREATED, entry);
        }
    }

    /** A change of what is watched; if it cannot be made, the listener learns that it does not see everything. */
    private interface Change {
        void make() throws ErrnoException;
    }

    private void attempt(Change change) {
        try {
            change.make();
        } catch (ErrnoException | RuntimeException e) {
            log.warn("the watch of {} does not see everything: {}", path, e.getMessage());
            report(Kind.OVERFLOW, path);
        }
    }

    /** The same write or overflow again, with nothing in between, is told once. */
    private void report(Kind kind, SandboxPath entry) {
        FileEvent event = new FileEvent(kind, entry.text());
        if (closed || ((kind == Kind.WRITTEN || kind == Kind.OVERFLOW) && event.equals(last))) {
            return;
        }
        last = event;
        try {
            listener.accept(event);
        } catch (RuntimeException | Error e) {
            log.warn("a listener of the watch of {} failed", path, e);
        }
    }
}
