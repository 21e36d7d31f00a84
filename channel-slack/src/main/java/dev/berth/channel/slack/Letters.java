package dev.berth.channel.slack;

import dev.berth.channel.Board;
import dev.berth.channel.Inbox;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** How a board looks in Slack. */
final class Letters {
    static final String STOP = "berth_stop";
    static final String ONCE = "berth_once";
    static final String ALWAYS = "berth_always";
    static final String DENY = "berth_deny";

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int STEPS = 8;
    private static final int TITLE = 120;
    private static final int OUTPUT = 260;
    private static final int DETAIL = 1_200;
    private static final int HOME = 20;
    private static final int SECTION = 3_000;
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm 'UTC'", Locale.ROOT).withZone(ZoneOffset.UTC);

    private Letters() {}

    static String status(Board board) {
        return board.status().isBlank() ? "Working…" : Mrkdwn.plain(shorten(board.status(), TITLE));
    }

    /** What is going on, the last steps, and a button to stop it; after its end the steps alone. */
    static Letter live(Board board) {
        boolean ended = board.end().isPresent();
        String text = ended ? "" : "_" + status(board) + "_";
        ArrayNode blocks = JSON.createArrayNode();
        String steps = steps(board, ended);
        String body = steps.isEmpty() ? text : text.isEmpty() ? steps : steps + "\n" + text;
        section(blocks, body);
        if (!ended) {
            ArrayNode buttons = actions(blocks);
            button(buttons, STOP, "Stop", board.run(), "danger");
        }
        int count = board.earlierSteps() + board.steps().size();
        return new Letter(ended ? count + (count == 1 ? " step" : " steps") : status(board), blocks.toString());
    }

    private static String steps(Board board, boolean ended) {
        List<Board.Step> all = board.steps();
        List<Board.Step> last = all.subList(Math.max(0, all.size() - STEPS), all.size());
        int earlier = board.earlierSteps() + all.size() - last.size();
        String lines = last.stream().map(step -> step(step, ended)).collect(Collectors.joining("\n"));
        return earlier == 0
                ? lines
                : "_" + earlier + (earlier == 1 ? " earlier step" : " earlier steps") + "_\n" + lines;
    }

    private static String step(Board.Step step, boolean ended) {
        String title = Mrkdwn.plain(shorten(step.title().isBlank() ? step.call() : step.title(), TITLE));
        return switch (step.state()) {
            case RUNNING ->
                ended
                        ? "◦ " + title
                        : "▸ " + title + (step.output().isBlank() ? "" : "\n" + block(tail(step.output())));
            case DONE -> "✓ " + title;
            case FAILED -> "✗ " + title;
        };
    }

    private static String tail(String output) {
        String text = output.stripTrailing();
        int from = Math.max(0, text.length() - OUTPUT);
        int line = from == 0 ? 0 : text.indexOf('\n', from) + 1;
        return text.substring(line > 0 ? line : from);
    }

    private static String block(String text) {
        return "```\n" + Mrkdwn.code(text) + "\n```";
    }

    static Letter card(Board.Card card) {
        String title = Mrkdwn.plain(shorten(card.title().isBlank() ? card.tool() : card.title(), TITLE));
        ArrayNode blocks = JSON.createArrayNode();
        String detail = card.detail().isBlank() ? "" : "\n" + block(shorten(card.detail(), DETAIL));
        section(blocks, "*May it?* " + title + detail);
        String by = card.decidedBy()
                .map(person -> " by " + Mrkdwn.plain(shorten(person, TITLE)))
                .orElse("");
        String outcome = switch (card.state()) {
            case REQUESTED -> "";
            case APPROVED -> "✓ Allowed" + by;
            case DENIED -> "✗ Denied" + by;
            case EXPIRED -> "✗ Denied: nobody answered in time";
        };
        if (outcome.isEmpty()) {
            ArrayNode buttons = actions(blocks);
            button(buttons, ONCE, "Allow once", card.approval(), "primary");
            button(buttons, ALWAYS, "Always in this thread", card.approval(), "");
            button(buttons, DENY, "Deny", card.approval(), "danger");
        } else {
            section(blocks, outcome);
        }
        return new Letter(outcome.isEmpty() ? "May it? " + title : outcome + ": " + title, blocks.toString());
    }

    static Letter note(Board.End end, String note) {
        return Letter.of((end.ok() ? "" : ":warning: ") + Mrkdwn.of(shorten(note, Cut.MOST / 2)));
    }

    /** The home of somebody in the app, as a view. */
    static String home(List<Inbox.Overview> conversations) {
        ObjectNode view = JSON.createObjectNode().put("type", "home");
        ArrayNode blocks = view.putArray("blocks");
        section(blocks, "*Your conversations*");
        if (conversations.isEmpty()) {
            section(blocks, "There are none yet. Mention me in a channel, or write to me here.");
        }
        for (Inbox.Overview one : conversations.subList(0, Math.min(HOME, conversations.size()))) {
            blocks.addObject().put("type", "divider");
            String room = one.place().room();
            String where = room.startsWith("C") && room.matches("[A-Z0-9]+") ? " in <#" + room + ">" : "";
            String title = one.title().isBlank() ? "A conversation" : shorten(one.title(), TITLE);
            section(
                    blocks,
                    "*" + Mrkdwn.plain(title) + "*" + where + "\n" + Mrkdwn.plain(shorten(one.state(), TITLE)) + " · "
                            + TIME.format(one.lastActivity()));
        }
        if (conversations.size() > HOME) {
            section(blocks, "_and " + (conversations.size() - HOME) + " more_");
        }
        return view.toString();
    }

    private static void section(ArrayNode blocks, String whole) {
        String text = fit(whole);
        blocks.addObject()
                .put("type", "section")
                .putObject("text")
                .put("type", "mrkdwn")
                .put("text", text);
    }

    /** Slack refuses a section with more. Escapes are not cut apart, and a code block is closed. */
    private static String fit(String text) {
        if (text.length() <= SECTION) {
            return text;
        }
        String cut = text.substring(0, SECTION - 10);
        int escape = cut.lastIndexOf('&');
        if (escape >= 0 && cut.indexOf(';', escape) < 0) {
            cut = cut.substring(0, escape);
        }
        return cut + ((cut.split("```", -1).length & 1) == 0 ? "…\n```" : "…");
    }

    private static ArrayNode actions(ArrayNode blocks) {
        return blocks.addObject().put("type", "actions").putArray("elements");
    }

    private static void button(ArrayNode buttons, String action, String label, String value, String style) {
        ObjectNode button = buttons.addObject()
                .put("type", "button")
                .put("action_id", action)
                .put("value", value);
        button.putObject("text").put("type", "plain_text").put("text", label);
        if (!style.isEmpty()) {
            button.put("style", style);
        }
    }

    static String shorten(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int end = Character.isHighSurrogate(text.charAt(most - 2)) ? most - 2 : most - 1;
        return text.substring(0, end) + "…";
    }
}
