package dev.berth.session.artifact;

import dev.berth.sandbox.FileInfo;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;

/**
 * Which files were looked at already, each as a hash of its path, size and time: a file that changed is another one. Eight
 * bytes for each, as a sandbox decides how long paths are. Of too many the oldest are forgotten.
 */
final class Seen {
    static final Seen NOTHING = new Seen(new long[0]);

    private static final int MOST = 2000;

    private final long[] inOrder;
    private final long[] sorted;

    private Seen(long[] inOrder) {
        this.inOrder = inOrder;
        this.sorted = inOrder.clone();
        Arrays.sort(sorted);
    }

    static Seen of(long[] inOrder) {
        return new Seen(
                inOrder.length <= MOST ? inOrder : Arrays.copyOfRange(inOrder, inOrder.length - MOST, inOrder.length));
    }

    /** Two files of one sandbox that meet here cost that sandbox an artifact, and nobody else anything. */
    static long print(FileInfo file) {
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < file.path().length(); i++) {
            hash = (hash ^ file.path().charAt(i)) * 0x100000001b3L;
        }
        hash = mix(hash ^ file.size());
        Instant at = file.modifiedAt();
        hash = mix(hash ^ at.getEpochSecond());
        return mix(hash ^ at.getNano());
    }

    /** The finalizer of MurmurHash3. */
    private static long mix(long value) {
        long mixed = (value ^ value >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }

    boolean has(FileInfo file) {
        return Arrays.binarySearch(sorted, print(file)) >= 0;
    }

    Seen and(List<FileInfo> files) {
        long[] more = Arrays.copyOf(inOrder, inOrder.length + files.size());
        for (int i = 0; i < files.size(); i++) {
            more[inOrder.length + i] = print(files.get(i));
        }
        return of(more);
    }

    Long[] toArray() {
        return Arrays.stream(inOrder).boxed().toArray(Long[]::new);
    }
}
