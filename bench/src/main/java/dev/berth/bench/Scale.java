package dev.berth.bench;

/**
 * How much is done for each number.
 *
 * @param creates sandboxes made one after the other
 * @param commands commands run one after the other
 * @param serverWarmUp requests that do not count: a server lives long enough for its code to be compiled
 * @param slow runs of what takes half a second each
 * @param burst sandboxes asked for at once
 * @param bursts how often
 * @param idle sandboxes that do nothing, for their memory
 * @param slices stretches of time for what is counted per second
 * @param sliceMillis how long one is
 * @param copies checkpoints, forks
 * @param transfers of how many megabytes
 */
record Scale(
        int creates,
        int commands,
        int serverWarmUp,
        int slow,
        int burst,
        int bursts,
        int idle,
        int slices,
        int sliceMillis,
        int copies,
        int transfers,
        int transferMegabytes) {

    static Scale of(BenchOptions.Size size) {
        return switch (size) {
            case QUICK -> new Scale(4, 20, 20, 2, 10, 1, 10, 1, 300, 2, 1, 64);
            case NORMAL -> new Scale(100, 1000, 10_000, 15, 100, 3, 200, 5, 2000, 15, 5, 1024);
            case FULL -> new Scale(200, 3000, 10_000, 30, 100, 5, 1000, 10, 2000, 30, 9, 1024);
        };
    }

    /** Rounds that do not count, for caches and the compiler. */
    static int warmUp(int rounds) {
        return Math.max(1, rounds / 5);
    }
}
