package dev.berth.demo;

import dev.berth.channel.slack.FakeSlack.Button;
import dev.berth.channel.slack.FakeSlack.Seen;
import dev.berth.channel.slack.FakeSlack.Shown;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** A thread in Slack, as a person would see it, in a terminal. */
final class ThreadView {
    private static final Map<String, String> NAMES = Map.of("U0BOT", "berth", "U1", "Ada", "U2", "Bob");

    private ThreadView() {}

    static void print(List<Seen> thread, PrintStream out) {
        for (Seen message : thread) {
            out.println();
            out.println(NAMES.getOrDefault(message.user(), message.user()) + (message.bot() ? "  [app]" : ""));
            readable(message.text()).lines().forEach(line -> out.println("  │ " + line));
            for (Shown file : message.files()) {
                out.println("  │ [file] " + file.name() + ", " + file.content().length + " bytes"
                        + (file.title().isEmpty() || file.title().equals(file.name()) ? "" : ": " + file.title()));
            }
            if (!message.buttons().isEmpty()) {
                out.println("  │ "
                        + String.join(
                                " ",
                                message.buttons().stream()
                                        .map(Button::label)
                                        .map(label -> "( " + label + " )")
                                        .toList()));
            }
        }
        out.println();
        out.flush();
    }

    /** Slack shows what it is sent without its escapes, and people by their names. */
    private static String readable(String text) {
        String shown = text;
        for (Map.Entry<String, String> name : NAMES.entrySet()) {
            shown = shown.replace("<@" + name.getKey() + ">", "@" + name.getValue());
        }
        return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
