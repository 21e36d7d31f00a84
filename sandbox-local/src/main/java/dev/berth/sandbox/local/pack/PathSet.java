package dev.berth.sandbox.local.pack;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Paths, of which only 64 bits each are kept, so that millions of them take little memory. Two that look the same are as
 * likely as any accident, and an archive that brought it about would spoil nothing but its own files. The seed keeps it from
 * being made slow on purpose.
 */
final class PathSet {
    private final long seed = ThreadLocalRandom.current().nextLong();
    /** Zero is a free place. */
    private long[] hashes = new long[1024];

    private int size;

    /** @return false if it was there */
    boolean add(List<String> path) {
        if (size * 2 >= hashes.length) {
            grow();
        }
        long hash = hash(path);
        int at = place(hashes, hash);
        if (hashes[at] == hash) {
            return false;
        }
        hashes[at] = hash;
        size++;
        return true;
    }

    boolean contains(List<String> path) {
        long hash = hash(path);
        return hashes[place(hashes, hash)] == hash;
    }

    private void grow() {
        long[] larger = new long[hashes.length * 2];
        for (long hash : hashes) {
            if (hash != 0) {
                larger[place(larger, hash)] = hash;
            }
        }
        hashes = larger;
    }

    private static int place(long[] table, long hash) {
        int at = (int) hash & table.length - 1;
        while (table[at] != 0 && table[at] != hash) {
            at = at + 1 & table.length - 1;
        }
        return at;
    }

    private long hash(List<String> path) {
        long hash = seed;
        for (String name : path) {
            for (int i = 0; i < name.length(); i++) {
                hash = mixed(hash ^ name.charAt(i));
            }
            hash = mixed(hash ^ '/');
        }
        return hash == 0 ? 1 : hash;
    }

    /** The end of MurmurHash3. */
    private static long mixed(long value) {
        long mixed = (value ^ value >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }
}
