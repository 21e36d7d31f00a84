package dev.berth.gateway.e2b.envd;

import java.util.Map;

/** What Go calls signals, which E2B's clients show. */
final class SignalName {
    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(1, "hangup"),
            Map.entry(2, "interrupt"),
            Map.entry(3, "quit"),
            Map.entry(4, "illegal instruction"),
            Map.entry(5, "trace/breakpoint trap"),
            Map.entry(6, "aborted"),
            Map.entry(7, "bus error"),
            Map.entry(8, "floating point exception"),
            Map.entry(9, "killed"),
            Map.entry(10, "user defined signal 1"),
            Map.entry(11, "segmentation fault"),
            Map.entry(12, "user defined signal 2"),
            Map.entry(13, "broken pipe"),
            Map.entry(14, "alarm clock"),
            Map.entry(15, "terminated"));

    private SignalName() {}

    static String of(int number) {
        return NAMES.getOrDefault(number, "signal " + number);
    }
}
