package dev.berth.channel.webhook;

import dev.berth.channel.Board;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What a chat system is posted, as JSON has it. */
final class Posted {
    private Posted() {}

    static Map<String, Object> board(Place place, String reply, Board board, long number) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("type", "board");
        body.put("number", number);
        body.put("run", board.run());
        body.put("conversation", place.room());
        body.put("reply", reply);
        body.put("requester", person(board.requester()));
        body.put("status", board.status());
        body.put("text", board.text());
        body.put("steps", board.steps().stream().map(Posted::step).toList());
        body.put("earlier_steps", board.earlierSteps());
        body.put("cards", board.cards().stream().map(Posted::card).toList());
        body.put("files", files(board.files()));
        board.end().ifPresent(end -> body.put("end", end(end)));
        return body;
    }

    static Map<String, Object> notice(Place place, String text, List<Board.Shown> files, String id) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("type", "notice");
        body.put("id", id);
        body.put("conversation", place.room());
        body.put("text", text);
        body.put("files", files(files));
        return body;
    }

    private static Map<String, Object> person(Person person) {
        return Map.of("id", person.id(), "name", person.name());
    }

    private static Map<String, Object> step(Board.Step step) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("call", step.call());
        shown.put("title", step.title());
        shown.put("state", lower(step.state()));
        shown.put("output", step.output());
        return shown;
    }

    private static Map<String, Object> card(Board.Card card) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("approval", card.approval());
        shown.put("tool", card.tool());
        shown.put("title", card.title());
        shown.put("detail", card.detail());
        shown.put("state", lower(card.state()));
        card.decidedBy().ifPresent(who -> shown.put("decided_by", who));
        return shown;
    }

    private static List<Map<String, Object>> files(List<Board.Shown> files) {
        return files.stream()
                .map(file -> {
                    Map<String, Object> shown = new LinkedHashMap<>();
                    shown.put("artifact", file.artifact());
                    shown.put("name", file.name());
                    shown.put("title", file.title());
                    shown.put("mime_type", file.mimeType());
                    shown.put("size", file.size());
                    return shown;
                })
                .toList();
    }

    private static Map<String, Object> end(Board.End end) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("ok", end.ok());
        end.note().ifPresent(note -> shown.put("note", note));
        return shown;
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
