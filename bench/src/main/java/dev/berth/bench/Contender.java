package dev.berth.bench;

import dev.berth.bench.rival.Timed;

/**
 * One of several things that are timed beside each other.
 *
 * @param before done before each time, not timed
 * @param after done after each time, not timed
 * @param onVirtualThread as Berth's server calls it; what blocks in the kernel has to be on a platform thread
 * @param every takes part in every so many rounds only
 */
record Contender(String name, Timed before, Timed timed, Timed after, boolean onVirtualThread, int every) {
    static final String BERTH = "berth";
    /** The yardstick of most of DESIGN's table: posix_spawn of {@code bash -c true}. */
    static final String BARE = "bare spawn";

    /** A rival, which is a process that is waited for. */
    static Contender rival(String name, Timed timed) {
        return new Contender(name, () -> {}, timed, () -> {}, false, 1);
    }

    static Contender berth(Timed timed) {
        return berth(BERTH, timed);
    }

    static Contender berth(String name, Timed timed) {
        return new Contender(name, () -> {}, timed, () -> {}, true, 1);
    }

    Contender before(Timed action) {
        return new Contender(name, action, timed, after, onVirtualThread, every);
    }

    Contender after(Timed action) {
        return new Contender(name, before, timed, action, onVirtualThread, every);
    }

    /** For one who is not Berth's server but calls it. */
    Contender onPlatformThread() {
        return new Contender(name, before, timed, after, false, every);
    }

    Contender every(int rounds) {
        return new Contender(name, before, timed, after, onVirtualThread, Math.max(1, rounds));
    }
}
