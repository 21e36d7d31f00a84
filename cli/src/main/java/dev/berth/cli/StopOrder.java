package dev.berth.cli;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** What was started, and has to be stopped in reverse: all of it, whatever fails on the way. */
final class StopOrder {
    private record Part(String name, AutoCloseable stop) {}

    private final Deque<Part> parts = new ArrayDeque<>();

    <T extends AutoCloseable> T add(String name, T part) {
        parts.push(new Part(name, part));
        return part;
    }

    /** Stops everything. Returns what could not be stopped, and why. */
    List<String> stop() {
        List<String> failures = new ArrayList<>();
        while (!parts.isEmpty()) {
            Part part = parts.pop();
            try {
                part.stop().close();
            } catch (Exception e) {
                failures.add("could not stop the " + part.name() + ": " + e.getMessage());
            }
        }
        return failures;
    }
}
