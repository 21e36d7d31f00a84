package dev.berth.bench.rival;

/** Something whose duration is measured. */
@FunctionalInterface
public interface Timed {
    void run() throws Exception;
}
