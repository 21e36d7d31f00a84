package dev.berth.gateway.terminal;

/**
 * What a terminal showed last. Bytes are named by their place in all that it ever showed, so whoever reads needs only a
 * number, and a reader who is too slow sees from it what was missed. Not safe for threads.
 */
final class Scrollback {
    private static final int SMALLEST = 4 << 10;

    private final int most;
    private byte[] ring = new byte[SMALLEST];
    private long oldest;
    private long end;

    Scrollback(int most) {
        this.most = most;
    }

    /** The place of the oldest byte that is kept. */
    long oldest() {
        return oldest;
    }

    /** The place after the newest byte. */
    long end() {
        return end;
    }

    void add(byte[] bytes, int length) {
        int from = Math.max(0, length - most);
        end += from;
        oldest = Math.max(oldest, end - most);
        grow((int) Math.min(most, end - oldest + length - from));
        int at = (int) (end % ring.length);
        int first = Math.min(length - from, ring.length - at);
        System.arraycopy(bytes, from, ring, at, first);
        System.arraycopy(bytes, from + first, ring, 0, length - from - first);
        end += length - from;
        oldest = Math.max(oldest, end - ring.length);
    }

    /** So many bytes are missing here: what was before them does not fit to what comes. */
    void gap(long bytes) {
        end += bytes;
        oldest = end;
    }

    /** Copies bytes from a place that is kept on; returns how many. */
    int read(long from, byte[] target) {
        int length = (int) Math.min(target.length, end - from);
        int at = (int) (from % ring.length);
        int first = Math.min(length, ring.length - at);
        System.arraycopy(ring, at, target, 0, first);
        System.arraycopy(ring, 0, target, first, length - first);
        return length;
    }

    private void grow(int needed) {
        if (ring.length >= needed || ring.length == most) {
            return;
        }
        int size = ring.length;
        while (size < needed) {
            size = Math.min(most, size * 2);
        }
        byte[] larger = new byte[size];
        for (long place = oldest; place < end; place++) {
            larger[(int) (place % size)] = ring[(int) (place % ring.length)];
        }
        ring = larger;
    }
}
