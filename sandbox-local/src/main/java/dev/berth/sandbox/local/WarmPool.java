package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Booted sandboxes without an owner, so that creating one is a matter of giving it a name and limits.
 *
 * <p>One thread refills, one sandbox at a time, and only when nobody has been creating for real for a moment: a burst
 * drains the pool and then has the machine to itself, as has the first command of a new sandbox, and the pool fills up
 * behind it. What waits here has never run anything of anybody's,
 * so there is no state of a tenant to clean; a sandbox never comes back.
 */
final class WarmPool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WarmPool.class);
    private static final long RETRY_SECONDS = 30;
    /** As long as a first command may take. Booting a sandbox meanwhile makes that twice as slow on two cores. */
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    private final Map<String, Integer> sizes;
    private final Function<String, LocalSandbox> boot;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Thread refiller =
            Thread.ofPlatform().daemon().name("warm-pool").unstarted(this::refill);

    // Guarded by lock.
    private final Map<String, Deque<LocalSandbox>> ready = new HashMap<>();
    private int creating;
    private long quietSince = System.nanoTime() - QUIET_NANOS;
    private boolean closed;

    /** @param boot makes and boots a sandbox of a template that belongs to nobody */
    WarmPool(Map<String, Integer> sizes, Function<String, LocalSandbox> boot) {
        this.sizes = sizes;
        this.boot = boot;
        sizes.keySet().forEach(template -> ready.put(template, new ArrayDeque<>()));
    }

    void start() {
        if (sizes.values().stream().anyMatch(size -> size > 0)) {
            refiller.start();
        }
    }

    /** A booted sandbox of that template, if one waits that still answers. */
    Optional<LocalSandbox> take(String template, String templateId) {
        while (true) {
            LocalSandbox sandbox;
            lock.lock();
            try {
                Deque<LocalSandbox> waiting = ready.get(template);
                if (waiting == null || waiting.isEmpty()) {
                    return Optional.empty();
                }
                sandbox = waiting.removeFirst();
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            // A newer version of the template, or something on the machine, may have made it useless.
            if (sandbox.record().template().equals(templateId) && sandbox.connected()) {
                return Optional.of(sandbox);
            }
            discard(sandbox);
        }
    }

    /** Tells that a sandbox is being made for somebody, until the result is closed. */
    AutoCloseableQuietly busy() {
        lock.lock();
        try {
            creating++;
        } finally {
            lock.unlock();
        }
        return () -> {
            lock.lock();
            try {
                creating--;
                quietSince = System.nanoTime();
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        };
    }

    /** A closing that throws nothing. */
    interface AutoCloseableQuietly extends AutoCloseable {
        @Override
        void close();
    }

    int ready(String template) {
        lock.lock();
        try {
            Deque<LocalSandbox> waiting = ready.get(template);
            return waiting == null ? 0 : waiting.size();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        try {
            refiller.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        ready.values().forEach(waiting -> waiting.forEach(WarmPool::discard));
    }

    private void refill() {
        Optional<String> wanted = next();
        while (wanted.isPresent()) {
            String template = wanted.get();
            try {
                LocalSandbox sandbox = boot.apply(template);
                lock.lock();
                try {
                    waiting(template).addLast(sandbox);
                } finally {
                    lock.unlock();
                }
            } catch (SandboxException e) {
                LOG.warn("could not keep a sandbox of template {} ready: {}", template, e.getMessage());
                pause();
            }
            wanted = next();
        }
    }

    /** Waits until something is to be done; empty when the pool is closed. */
    private Optional<String> next() {
        lock.lock();
        try {
            while (!closed) {
                Optional<String> wanted = creating == 0 ? lacking() : Optional.empty();
                long patience = QUIET_NANOS - (System.nanoTime() - quietSince);
                if (wanted.isEmpty()) {
                    changed.await();
                } else if (patience > 0) {
                    long _ = changed.awaitNanos(patience);
                } else {
                    return wanted;
                }
            }
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            lock.unlock();
        }
    }

    /** A template with fewer sandboxes than it should have. Called with the lock. */
    private Optional<String> lacking() {
        return sizes.entrySet().stream()
                .filter(size -> waiting(size.getKey()).size() < size.getValue())
                .map(Map.Entry::getKey)
                .findFirst();
    }

    private Deque<LocalSandbox> waiting(String template) {
        return ready.computeIfAbsent(template, _ -> new ArrayDeque<>());
    }

    private void pause() {
        lock.lock();
        try {
            long left = TimeUnit.SECONDS.toNanos(RETRY_SECONDS);
            while (!closed && left > 0) {
                left = changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private static void discard(LocalSandbox sandbox) {
        try {
            sandbox.destroy();
        } catch (SandboxException e) {
            LOG.warn("could not remove a sandbox of the warm pool: {}", e.getMessage());
        }
    }
}
