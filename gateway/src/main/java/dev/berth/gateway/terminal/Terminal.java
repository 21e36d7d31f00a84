package dev.berth.gateway.terminal;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One open terminal. One thread takes what it shows into the scroll-back, from where each watcher reads at its own pace;
 * another gives it what is typed. Neither belongs to a watcher, so one who leaves in the middle of anything leaves nothing
 * behind. They are never interrupted, as that would break the connection to the guest for everybody.
 */
final class Terminal {
    private static final Logger LOG = LoggerFactory.getLogger(Terminal.class);
    private static final int SCROLLBACK = 256 << 10;
    private static final int CHUNK = 16 << 10;
    /** What is typed and not yet taken, in bytes; who types more has to wait. */
    private static final int MOST_TYPED = 64 << 10;

    private static final Duration TO_HANG_UP = Duration.ofSeconds(2);
    private static final Duration TO_DIE = Duration.ofSeconds(10);

    private final String name;
    private final RunningCommand command;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // All below are guarded by lock.
    private final Scrollback scrollback = new Scrollback(SCROLLBACK);
    private final Deque<byte[]> typed = new ArrayDeque<>();
    private int typedBytes;
    private long dropped;
    private TerminalSize size;
    private int watchers;
    private String endedBy;
    private @Nullable End end;

    /** @param endedBy who is said to have ended it, if nobody asks for that */
    Terminal(String name, RunningCommand command, TerminalSize size, String endedBy) {
        this.name = name;
        this.command = command;
        this.size = size;
        this.endedBy = endedBy;
    }

    /** Begins with what the sandbox has kept of it, so that the first who comes sees that. */
    void catchUp(long bytes) {
        byte[] buffer = new byte[CHUNK];
        try {
            for (long left = bytes; left > 0; ) {
                int n = command.stdout().read(buffer, 0, (int) Math.min(left, buffer.length));
                if (n < 0) {
                    return;
                }
                show(buffer, n);
                left -= n;
            }
        } catch (IOException e) {
            command.close();
            throw failure(e);
        }
    }

    /** @param over told how it ended and by whom, before the watchers are */
    void run(BiConsumer<End, String> over) {
        Thread.ofVirtual().name("terminal " + name).start(() -> showAll(over));
        Thread.ofVirtual().name("keyboard " + name).start(this::typeAll);
    }

    // ---- what it shows -------------------------------------------------------------------------------------------

    private void showAll(BiConsumer<End, String> over) {
        End how;
        try {
            Pace pace = new Pace();
            byte[] buffer = new byte[CHUNK];
            InputStream shown = command.stdout();
            for (int n = shown.read(buffer); n >= 0; n = shown.read(buffer)) {
                show(buffer, n);
                pace.took(n);
            }
            how = new End.Exited(command.await().code());
        } catch (IOException e) {
            how = new End.Lost(failure(e));
        } catch (SandboxException e) {
            how = new End.Lost(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            how = new End.Lost(SandboxException.unavailable("the terminal is not read any more", e));
        }
        command.close();
        finish(how, over);
    }

    private void show(byte[] bytes, int length) {
        lock.lock();
        try {
            long missing = command.dropped() - dropped;
            if (missing > 0) {
                dropped += missing;
                scrollback.gap(missing);
            }
            scrollback.add(bytes, length);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void finish(End how, BiConsumer<End, String> over) {
        try {
            over.accept(how, endedBy());
        } finally {
            lock.lock();
            try {
                end = how;
                typed.clear();
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private String endedBy() {
        lock.lock();
        try {
            return endedBy;
        } finally {
            lock.unlock();
        }
    }

    private static SandboxException failure(IOException e) {
        return e.getCause() instanceof SandboxException known
                ? known
                : SandboxException.unavailable("the terminal broke off: " + e.getMessage(), e);
    }

    // ---- what is typed -------------------------------------------------------------------------------------------

    private void typeAll() {
        try {
            for (Optional<byte[]> next = nextTyped(); next.isPresent(); next = nextTyped()) {
                command.stdin().write(next.get());
                command.stdin().flush();
            }
        } catch (IOException e) {
            // Whoever watches is told of the end by the other thread; what is typed from now on is for nobody.
            LOG.debug("terminal {} takes no more input", name, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Optional<byte[]> nextTyped() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (typed.isEmpty() && end == null) {
                changed.await();
            }
            byte[] next = typed.poll();
            if (next == null) {
                return Optional.empty();
            }
            typedBytes -= next.length;
            changed.signalAll();
            return Optional.of(next);
        } finally {
            lock.unlock();
        }
    }

    void type(Watcher watcher, byte[] bytes) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (typedBytes > MOST_TYPED && end == null && !watcher.gone) {
                changed.await();
            }
            if (end == null && !watcher.gone && bytes.length > 0) {
                typed.add(bytes);
                typedBytes += bytes.length;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    void resize(TerminalSize newSize) {
        lock.lock();
        try {
            size = newSize;
            // With the lock, so that the last one who is remembered is the last one who was sent.
            command.resize(newSize);
        } finally {
            lock.unlock();
        }
    }

    // ---- who watches ---------------------------------------------------------------------------------------------

    TerminalSize size() {
        lock.lock();
        try {
            return size;
        } finally {
            lock.unlock();
        }
    }

    int watchers() {
        lock.lock();
        try {
            return watchers;
        } finally {
            lock.unlock();
        }
    }

    /** One more who watches; false if there is nothing left to be seen. */
    boolean join(Watcher watcher) {
        lock.lock();
        try {
            if (end != null) {
                return false;
            }
            watchers++;
            watcher.position = scrollback.oldest();
            watcher.replayed = scrollback.end() - scrollback.oldest();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** What the watcher sees next, waited for. */
    Watcher.Seen next(Watcher watcher, byte[] buffer) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (watcher.position == scrollback.end() && end == null && !watcher.gone) {
                changed.await();
            }
            if (watcher.gone) {
                return new Watcher.Seen.Nothing();
            }
            if (watcher.position < scrollback.oldest()) {
                // Far enough that the next bytes are not gone again before they are sent.
                long next = Math.max(scrollback.oldest(), scrollback.end() - SCROLLBACK / 2);
                long missed = next - watcher.position;
                watcher.position = next;
                return new Watcher.Seen.Skipped(missed);
            }
            if (watcher.position < scrollback.end()) {
                int n = scrollback.read(watcher.position, buffer);
                watcher.position += n;
                return new Watcher.Seen.Bytes(n);
            }
            return end == null ? new Watcher.Seen.Nothing() : new Watcher.Seen.Ended(end);
        } finally {
            lock.unlock();
        }
    }

    void leave(Watcher watcher) {
        lock.lock();
        try {
            if (!watcher.gone) {
                watcher.gone = true;
                watchers--;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    // ---- its end -------------------------------------------------------------------------------------------------

    /** Ends it as a closed window would, and by force if that does not help. */
    void hangUp(String who) {
        lock.lock();
        try {
            endedBy = who;
        } finally {
            lock.unlock();
        }
        command.signal(Signal.HUP);
        if (!ends(TO_HANG_UP)) {
            command.signal(Signal.KILL);
            if (!ends(TO_DIE)) {
                throw SandboxException.unavailable("the terminal does not end; stop the session");
            }
        }
    }

    private boolean ends(Duration patience) {
        lock.lock();
        try {
            long left = patience.toNanos();
            while (end == null && left > 0) {
                left = changed.awaitNanos(left);
            }
            return end != null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while a terminal ended", e);
        } finally {
            lock.unlock();
        }
    }

    /** Lets go of it and leaves it running, for whoever serves it next. */
    void leave() {
        command.close();
    }
}
