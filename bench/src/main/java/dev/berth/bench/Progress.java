package dev.berth.bench;

import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;

/** Tells how far it is, at most every few seconds. */
final class Progress {
    private static final long PERIOD = TimeUnit.SECONDS.toNanos(5);

    private final PrintWriter out;
    private final long began = System.nanoTime();
    private String doing = "";
    private long told = began;

    Progress(PrintWriter out) {
        this.out = out;
    }

    void begin(String what) {
        doing = what;
        tell("");
    }

    void step(int number, int of) {
        if (System.nanoTime() - told > PERIOD) {
            tell(" " + number + " of " + of);
        }
    }

    private void tell(String detail) {
        told = System.nanoTime();
        out.printf("%4d s  %s%s%n", TimeUnit.NANOSECONDS.toSeconds(told - began), doing, detail);
        out.flush();
    }
}
