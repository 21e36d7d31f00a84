package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** One lock for each key that somebody in this process holds or waits for. */
final class KeyLocks {
    private static final class Entry {
        private final ReentrantLock lock = new ReentrantLock();
        /** Who holds or waits; changed only inside the map's own locking. */
        private int users;
    }

    private final ConcurrentHashMap<SessionKey, Entry> entries = new ConcurrentHashMap<>();

    /** Released by the thread that took it. */
    final class Held implements AutoCloseable {
        private final SessionKey key;
        private final Entry entry;

        private Held(SessionKey key, Entry entry) {
            this.key = key;
            this.entry = entry;
        }

        /** Whether somebody waits for it to be released. */
        boolean wanted() {
            return entry.lock.hasQueuedThreads();
        }

        @Override
        public void close() {
            entry.lock.unlock();
            leave(key);
        }
    }

    Held lock(SessionKey key, Deadline deadline) {
        Entry entry = enter(key);
        boolean locked = false;
        try {
            locked = entry.lock.tryLock(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS);
            if (!locked) {
                throw SandboxException.timeout(
                        "session " + key + " is still busy with something else; try again later");
            }
            return new Held(key, entry);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for session " + key, e);
        } finally {
            if (!locked) {
                leave(key);
            }
        }
    }

    Optional<Held> tryLock(SessionKey key) {
        Entry entry = enter(key);
        if (entry.lock.tryLock()) {
            return Optional.of(new Held(key, entry));
        }
        leave(key);
        return Optional.empty();
    }

    private Entry enter(SessionKey key) {
        return entries.compute(key, (_, known) -> {
            Entry entry = known == null ? new Entry() : known;
            entry.users++;
            return entry;
        });
    }

    private void leave(SessionKey key) {
        entries.computeIfPresent(key, (_, entry) -> --entry.users == 0 ? null : entry);
    }
}
