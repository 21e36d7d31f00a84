package dev.berth.cli;

import dev.berth.cli.args.Durations;
import dev.berth.sandbox.BuildEvent;
import java.util.function.Consumer;

/** Shows a build of a template: a line for each step, and on a terminal beneath it the newest line of its output. */
final class BuildProgress implements Consumer<BuildEvent> {
    private static final int WIDTH = 100;

    private final Console console;
    private final boolean live;

    BuildProgress(Console console) {
        this.console = console;
        this.live = console.onTerminal().getAsBoolean();
    }

    @Override
    public void accept(BuildEvent event) {
        switch (event) {
            case BuildEvent.Waiting() -> line("another build works in the same directory; waiting for it");
            case BuildEvent.Needed(String template) -> line("it begins with '" + template + "', which is built first");
            case BuildEvent.StepStarted step -> line(count(step.number(), step.total()) + shortened(step.text()));
            case BuildEvent.StepOutput output -> passing(output.line());
            case BuildEvent.StepFinished step ->
                line(count(step.number(), step.total())
                        + (step.cached() ? "was built before" : "done in " + Durations.format(step.took())));
            case BuildEvent.Published(var template, boolean unchanged) ->
                line(unchanged ? template.id() + " is what it would be; nothing to do" : "built " + template.id());
        }
    }

    private static String count(int number, int total) {
        return "[" + number + "/" + total + "] ";
    }

    private void line(String text) {
        console.err().println(live ? "\r\033[K" + text : text);
    }

    private void passing(String text) {
        if (live) {
            console.err().print("\r\033[K      " + shortened(text.replaceAll("\\p{Cntrl}", " ")));
            console.err().flush();
        }
    }

    private static String shortened(String text) {
        String first = text.lines().findFirst().orElse("");
        return first.length() <= WIDTH ? first : first.substring(0, WIDTH - 1) + "…";
    }
}
