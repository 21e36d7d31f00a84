package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.template.TemplateRow.LogRow;
import dev.berth.sandbox.BuildEvent;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/** What a build tells, as lines that are kept: written down a few at a time, and no more of them than anybody reads. */
final class BuildLog {
    private static final int MOST_LINES = 20_000;
    private static final int LONGEST_LINE = 4000;

    private final BuildTable table;
    private final UUID build;
    private final InstantSource clock;
    /** Held over the whole of writing; the next two are guarded by this object. */
    private final ReentrantLock writing = new ReentrantLock();

    private final List<LogRow> unwritten = new ArrayList<>();
    private int lines;

    BuildLog(BuildTable table, UUID build, InstantSource clock) {
        this.table = table;
        this.build = build;
        this.clock = clock;
    }

    void accept(BuildEvent event) {
        switch (event) {
            case BuildEvent.Waiting() -> line("info", "another template is being built; waiting for it");
            case BuildEvent.Needed(String template) ->
                line("info", "it begins with '" + template + "', which is built first");
            case BuildEvent.StepStarted step ->
                line("info", "[builder " + step.number() + "/" + step.total() + "] " + step.text());
            case BuildEvent.StepOutput output -> line("info", output.line());
            case BuildEvent.StepFinished step ->
                line(
                        "debug",
                        "[builder " + step.number() + "/" + step.total() + "] "
                                + (step.cached()
                                        ? "CACHED"
                                        : "done in " + step.took().toMillis() + " ms"));
            case BuildEvent.Published(var template, boolean unchanged) ->
                line(
                        "info",
                        unchanged ? "nothing changed since it was built last" : "built " + template.size() + " bytes");
        }
    }

    synchronized void line(String level, String message) {
        if (lines > MOST_LINES) {
            return;
        }
        boolean last = lines == MOST_LINES;
        String text = last ? "more than " + MOST_LINES + " lines are not kept" : message.replace("\0", "");
        unwritten.add(new LogRow(
                lines++,
                clock.instant(),
                last ? "warn" : level,
                Optional.empty(),
                text.length() <= LONGEST_LINE ? text : text.substring(0, LONGEST_LINE) + "…"));
    }

    /** Writes down what was not yet, in the order in which it was told: a reader goes on where the last page ended. */
    void flush() {
        writing.lock();
        try {
            List<LogRow> some;
            synchronized (this) {
                some = List.copyOf(unwritten);
            }
            if (!some.isEmpty()) {
                table.log(build, some);
            }
            synchronized (this) {
                unwritten.subList(0, some.size()).clear();
            }
        } finally {
            writing.unlock();
        }
    }
}
