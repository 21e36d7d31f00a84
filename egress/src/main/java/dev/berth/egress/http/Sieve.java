package dev.berth.egress.http;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Bytes that pass in pieces, and in which a text is noticed even if it is spread over several of them. Keeps back only
 * what may be the beginning of one.
 */
final class Sieve {
    /** What to do about a text that was found: it may be changed in place. */
    interface Find<E extends Exception> {
        void found(byte[] bytes, int from, int to) throws E;
    }

    private static final byte[] NOTHING = {};

    private final Finder finder;
    private byte[] held = NOTHING;

    Sieve(Finder finder) {
        this.finder = finder;
    }

    /** What may pass now of what was kept back and what has come; the piece may be changed. */
    <E extends Exception> ByteBuffer pass(byte[] piece, int length, Find<E> find) throws E {
        if (finder.isEmpty()) {
            return ByteBuffer.wrap(piece, 0, length);
        }
        byte[] bytes = piece;
        int to = length;
        if (held.length > 0) {
            bytes = Arrays.copyOf(held, held.length + length);
            System.arraycopy(piece, 0, bytes, held.length, length);
            to = bytes.length;
        }
        int searched = 0;
        for (Finder.Found at = finder.find(bytes, 0, to); at.from() >= 0; at = finder.find(bytes, searched, to)) {
            // One that has begun inside of this one goes unseen, but what is left of it is not all of it.
            find.found(bytes, at.from(), at.to());
            searched = at.to();
        }
        int keep = finder.begun(bytes, searched, to);
        held = keep == 0 ? NOTHING : Arrays.copyOfRange(bytes, to - keep, to);
        return ByteBuffer.wrap(bytes, 0, to - keep);
    }

    /** What was kept back, at the end. */
    byte[] rest() {
        byte[] rest = held;
        held = NOTHING;
        return rest;
    }
}
