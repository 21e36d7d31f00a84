package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Bytes on their way from the guest to a reader.
 *
 * <p>The link's thread puts bytes in and never waits; the reader takes them out and gives credit back in steps. A guest that sends more than it has credit for breaks the protocol. So the memory of a stream is
 * bounded by its window, and a large buffer exists only while it holds something.
 *
 * <p>Offsets are the guest's, and may jump where it dropped bytes that nobody read in time. The bytes of such a gap take
 * nothing from the window, and count as consumed when those before them are; so both sides remember where it is. Credit
 * that crossed the gap on its way may have been lost, so the next read gives credit at once.
 *
 * <p>A reader who {@linkplain #mark marks} has no credit given for what it reads after the mark, until the next one. So
 * whoever writes down what it read, and marks then, can be killed at any moment: the guest still has the rest.
 */
final class Inflow extends InputStream {
    static final int WINDOW = 256 * 1024;
    /** For a ring of unknown size: half of the smallest there is. */
    static final int SMALLEST_STEP = 2048;

    private static final int SMALL = 16 * 1024;
    /** A guest has half as many in one window at most. */
    private static final int MOST_GAPS = 64;

    private static final byte[] NONE = new byte[0];

    private final int creditStep;
    private final LongConsumer credit;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // All below are guarded by lock. From `head` in the ring there are the `held` bytes that were read since the mark,
    // and then the `unread` ones.
    private byte[] ring = NONE;
    private int head;
    private int held;
    private int unread;
    private boolean marked;
    private long received;
    private long credited;
    private boolean creditLost;
    /** Those at or after what was credited, in order. */
    private final ArrayDeque<Gap> gaps = new ArrayDeque<>();

    private long dropped;
    private long end = Long.MAX_VALUE;
    private boolean closed;
    private @Nullable SandboxException failure;
    /** Where the one who waits wants its bytes, and how many it was given: they need not go through the ring. */
    private byte @Nullable [] waiting;

    private int waitingAt;
    private int waitingFor;
    private int given;

    /**
     * @param creditStep how much is taken before credit is given; a guest whose ring is smaller would wait for ever
     * @param credit told the offset up to which everything was taken
     */
    Inflow(long from, int creditStep, LongConsumer credit) {
        this.creditStep = creditStep;
        this.received = from;
        this.credited = from;
        this.credit = credit;
    }

    void receive(long offset, ByteBuffer bytes) throws ProtocolException {
        lock.lock();
        try {
            long gap = offset - received;
            if (gap < 0 || outstanding() + bytes.remaining() > WINDOW || gaps.size() > MOST_GAPS) {
                throw new ProtocolException("bytes outside of the window");
            }
            if (gap > 0) {
                gaps.add(new Gap(received, offset));
                dropped += gap;
                received += gap;
                creditLost = true;
            }
            received += bytes.remaining();
            if (!closed && offset < end) {
                store(bytes);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private record Gap(long from, long to) {
        long size() {
            return to - from;
        }
    }

    /** How many bytes were received that no credit was given for. */
    private long outstanding() {
        return received - credited - gaps.stream().mapToLong(Gap::size).sum();
    }

    /** The offset of the first byte that was not taken. Gaps before what was credited do not matter to it. */
    private long taken() {
        long offset = received;
        long left = unread;
        for (Iterator<Gap> newest = gaps.descendingIterator(); newest.hasNext(); ) {
            Gap gap = newest.next();
            if (left <= offset - gap.to()) {
                break;
            }
            left -= offset - gap.to();
            offset = gap.from();
        }
        return offset - left;
    }

    private void credited(long offset) {
        credited = offset;
        creditLost = false;
        while (!gaps.isEmpty() && gaps.getFirst().from() < offset) {
            gaps.removeFirst();
        }
    }

    /** The stream ends at this offset. */
    void end(long offset) {
        lock.lock();
        try {
            end = Math.min(end, offset);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The stream breaks off; what was received can still be read, until it is closed, which does not change why. */
    void fail(SandboxException why) {
        lock.lock();
        try {
            if (failure == null && !closed) {
                failure = why;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Where a new subscription has to start. It has a whole window, whatever lies here unread. */
    long resubscribe() {
        lock.lock();
        try {
            credited(received);
            creditLost = true;
            return received;
        } finally {
            lock.unlock();
        }
    }

    long dropped() {
        lock.lock();
        try {
            return dropped;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        int n;
        long consumed = -1;
        lock.lock();
        try {
            n = awaitBytes(target, offset, length);
            if (closed) {
                throw new IOException(failure == null ? "the stream is closed" : failure.getMessage(), failure);
            }
            if (n == 0 && unread == 0) {
                if (received >= end) {
                    return -1;
                }
                throw new IOException(failure == null ? "the stream broke off" : failure.getMessage(), failure);
            }
            if (n == 0) {
                n = Math.min(length, unread);
                take(target, offset, n);
            }
            long taken = taken();
            if (!marked && received < end && taken > credited && (creditLost || taken - credited >= creditStep)) {
                credited(taken);
                consumed = taken;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("reading was interrupted").initCause(e);
        } finally {
            lock.unlock();
        }
        if (consumed >= 0) {
            credit.accept(consumed);
        }
        return n;
    }

    /** Waits until there is something; returns how much of it stands in the target already. Called with the lock. */
    private int awaitBytes(byte[] target, int offset, int length) throws InterruptedException {
        boolean first = !marked && waiting == null;
        if (first && unread == 0) {
            waiting = target;
            waitingAt = offset;
            waitingFor = length;
            given = 0;
        }
        try {
            while (unread == 0 && !(first && given > 0) && received < end && failure == null && !closed) {
                changed.await();
            }
        } catch (InterruptedException e) {
            if (!first || given == 0) {
                throw e;
            }
            // What it was given is in no other place.
            Thread.currentThread().interrupt();
        } finally {
            if (first) {
                waiting = null;
            }
        }
        int got = first ? given : 0;
        given = first ? 0 : given;
        return got;
    }

    @Override
    public int available() {
        lock.lock();
        try {
            return closed ? 0 : unread;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean markSupported() {
        return true;
    }

    /**
     * Says that everything before this was dealt with, and that the guest has to keep what comes after it until the next
     * mark.
     *
     * @param limit how much will be read until then; no more than a window can be
     */
    @Override
    public void mark(int limit) {
        if (limit > WINDOW) {
            throw new IllegalArgumentException("no more than " + WINDOW + " bytes are kept after a mark");
        }
        long consumed = -1;
        lock.lock();
        try {
            marked = true;
            forget(held);
            held = 0;
            long taken = taken();
            if (received < end && taken > credited && !closed) {
                credited(taken);
                consumed = taken;
            }
        } finally {
            lock.unlock();
        }
        if (consumed >= 0) {
            credit.accept(consumed);
        }
    }

    /** Goes back to the mark. */
    @Override
    public void reset() throws IOException {
        lock.lock();
        try {
            if (!marked || closed) {
                throw new IOException("there is no mark to go back to");
            }
            unread += held;
            held = 0;
        } finally {
            lock.unlock();
        }
    }

    /** Stops reading: what is here is thrown away, and what comes until the window is full. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            unread = 0;
            held = 0;
            ring = NONE;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void store(ByteBuffer bytes) {
        if (waiting != null && unread == 0 && given == 0) {
            given = Math.min(waitingFor, bytes.remaining());
            bytes.get(waiting, waitingAt, given);
        }
        if (bytes.hasRemaining()) {
            keep(bytes);
        }
    }

    private void keep(ByteBuffer bytes) {
        int length = bytes.remaining();
        int kept = held + unread;
        if (ring.length < kept + length) {
            byte[] larger = new byte[Math.max(SMALL, Integer.highestOneBit(kept + length - 1) << 1)];
            copy(0, larger, 0, kept);
            ring = larger;
            head = 0;
        }
        while (bytes.hasRemaining()) {
            int at = (head + held + unread) % ring.length;
            int n = Math.min(bytes.remaining(), ring.length - at);
            bytes.get(ring, at, n);
            unread += n;
        }
    }

    private void take(byte[] target, int offset, int length) {
        copy(held, target, offset, length);
        unread -= length;
        if (marked) {
            held += length;
        } else {
            forget(length);
        }
    }

    private void copy(int from, byte[] target, int offset, int length) {
        if (length > 0) {
            int at = (head + from) % ring.length;
            int first = Math.min(length, ring.length - at);
            System.arraycopy(ring, at, target, offset, first);
            System.arraycopy(ring, 0, target, offset + first, length - first);
        }
    }

    /** Makes room of the oldest bytes, which are no longer counted. */
    private void forget(int length) {
        if (unread > 0) {
            head = (head + length) % ring.length;
        } else {
            head = 0;
            ring = ring.length > SMALL ? NONE : ring;
        }
    }
}
