package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.chat.ChatMessage.Assistant;
import dev.berth.agent.chat.ChatMessage.Result;
import dev.berth.agent.chat.ChatMessage.User;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A conversation with a model: what of it the model is given, and all of it as it is written down.
 *
 * <p>It is written as lines of JSON: the messages, and notes about them. A line, once written, stays; what is no line of
 * ours is passed over when they are read back. What the model is given has a limit, and whatever belongs together, which
 * is a use of tools and its results, is left out together.
 *
 * <p>Methods may be called by any thread.
 */
final class History {
    static final String INTERRUPTED =
            "error: the server was restarted while this was being done. It may be done in part, so look before it is done"
                    + " again.";

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int PIECE = 4 << 20;
    private static final int LEAST = 2 << 10;
    private static final String NOTE = "note";

    /** A message of a person, or an answer with the results of the tools that it uses. */
    private static final class Unit {
        private final ChatMessage first;
        private final List<Result> results = new ArrayList<>();

        Unit(ChatMessage first) {
            this.first = first;
        }

        boolean byPerson() {
            return first instanceof User;
        }

        List<Call> calls() {
            return first instanceof Assistant assistant ? assistant.calls() : List.of();
        }

        List<Call> pending() {
            Set<String> answered = new HashSet<>();
            results.forEach(result -> answered.add(result.call()));
            return calls().stream()
                    .filter(call -> !answered.contains(call.id()))
                    .toList();
        }

        int size() {
            return first.size() + results.stream().mapToInt(Result::size).sum();
        }
    }

    private final Past past;
    /** How much of the transcript is kept by others. */
    private final int before;

    private final List<Unit> units = new ArrayList<>();
    private int size;
    private byte[] added = new byte[256];
    private int addedLength;
    private final int longest;
    private int budget;
    private boolean shortened;
    private boolean ended = true;
    private int rounds;
    private long calls;
    private Optional<String> conversation = Optional.empty();

    /** @param budget how many characters the model is given */
    History(Past past, int budget) {
        this.past = past;
        this.budget = budget;
        this.longest = budget / 2;
        byte[] kept = past.transcript().orElse(new byte[0]);
        this.before = kept.length;
        new String(kept, UTF_8).lines().forEach(this::read);
        if (kept.length > 0 && kept[kept.length - 1] != '\n') {
            append("\n".getBytes(UTF_8)); // what is torn must not spoil what comes after it
        }
    }

    private void read(String line) {
        JsonNode json;
        try {
            json = JSON.readTree(line);
        } catch (JacksonException e) {
            return;
        }
        switch (json.path(NOTE).asString("")) {
            case "agent" -> conversation = Optional.of(json.path("conversation").asString(""));
            case "ended" -> close(json.path("left_out").asBoolean(false));
            default -> ChatMessage.of(json).ifPresent(this::keep);
        }
    }

    private void keep(ChatMessage message) {
        switch (message) {
            case User _ -> {
                add(new Unit(message));
                rounds = 0;
                ended = false;
            }
            case Assistant assistant -> {
                add(new Unit(message));
                rounds++;
                calls += assistant.calls().size();
                ended = assistant.calls().isEmpty();
            }
            case Result result -> {
                if (!units.isEmpty()
                        && units.getLast().pending().stream()
                                .anyMatch(call -> call.id().equals(result.call()))) {
                    units.getLast().results.add(result);
                    size += result.size();
                }
            }
        }
        shorten();
    }

    private void add(Unit unit) {
        units.add(unit);
        size += unit.size();
    }

    private void remove(int from, int to) {
        List<Unit> removed = units.subList(from, to);
        size -= removed.stream().mapToInt(Unit::size).sum();
        removed.clear();
    }

    synchronized void add(ChatMessage message) {
        ChatMessage fit = message instanceof User user ? new User(Words.cut(user.text(), longest)) : message;
        keep(fit);
        write(fit.json());
    }

    /** By which the coding agent finds its own conversation again. */
    synchronized void agent(String name) {
        conversation = Optional.of(name);
        write(JSON.createObjectNode().put(NOTE, "agent").put("conversation", name));
    }

    /**
     * A run is over without an answer.
     *
     * @param leftOut whether the model is not to hear again what was said in it, as it would refuse that again
     */
    synchronized void end(boolean leftOut) {
        close(leftOut);
        write(JSON.createObjectNode().put(NOTE, "ended").put("left_out", leftOut));
    }

    private void close(boolean leftOut) {
        ended = true;
        if (leftOut) {
            int from = lastPerson();
            while (from > 0 && units.get(from - 1).byPerson()) {
                from--;
            }
            remove(Math.max(from, 0), units.size());
        }
    }

    private int lastPerson() {
        int last = units.size() - 1;
        while (last >= 0 && !units.get(last).byPerson()) {
            last--;
        }
        return last;
    }

    synchronized boolean isEmpty() {
        return units.isEmpty() && before + addedLength == 0;
    }

    /** Whether a run was going on when the last line was written. */
    synchronized boolean ended() {
        return ended;
    }

    /** How often the model has answered since a person said something. */
    synchronized int rounds() {
        return rounds;
    }

    /** The uses of tools that have no result yet. */
    synchronized List<Call> pending() {
        return units.isEmpty() ? List.of() : units.getLast().pending();
    }

    /** Which of all uses of tools in this conversation it is, from 1 on; it has to be one of the last answer. */
    synchronized long number(Call call) {
        List<Call> last = units.getLast().calls();
        return calls - last.size() + last.indexOf(call) + 1;
    }

    /** How many uses of tools there were. */
    synchronized long calls() {
        return calls;
    }

    synchronized Optional<String> conversation() {
        return conversation;
    }

    /** What the coding agent was told and has said, as far as it is remembered. */
    synchronized List<Said> tasks() {
        List<Said> said = new ArrayList<>();
        for (Unit unit : units) {
            for (Result result : unit.results) {
                unit.calls().stream()
                        .filter(call ->
                                call.id().equals(result.call()) && call.tool().equals(Tools.SANDBOX))
                        .findFirst()
                        .flatMap(Call::parsed)
                        .ifPresent(arguments -> {
                            said.add(new Said(false, arguments.path("task").asString("")));
                            said.add(new Said(true, result.text()));
                        });
            }
        }
        return said;
    }

    /** Gives the model less from now on. Returns whether there was anything that could be left out. */
    synchronized boolean halve() {
        int full = size;
        budget = Math.max(LEAST, Math.min(budget, size) / 2);
        shorten();
        return size < full;
    }

    /** Leaves out the oldest turns, and of the last one, if it alone is too long, the oldest answers. */
    private void shorten() {
        while (size > budget) {
            int turn = 1;
            while (turn < units.size()
                    && !(units.get(turn).byPerson() && !units.get(turn - 1).byPerson())) {
                turn++;
            }
            if (turn < units.size()) {
                remove(0, turn);
            } else {
                int person = lastPerson();
                int oldest = person > 0 ? 0 : person + 1;
                if (oldest >= units.size() - 1) {
                    return;
                }
                remove(oldest, oldest + 1);
            }
            shortened = true;
        }
    }

    /** What the model is given. */
    synchronized ArrayNode messages(String instructions) {
        ArrayNode messages = JSON.createArrayNode();
        messages.addObject()
                .put("role", "system")
                .put(
                        "content",
                        shortened
                                ? instructions + "\n\nEarlier parts of this conversation are left out."
                                : instructions);
        StringBuilder said = new StringBuilder();
        for (Unit unit : units) {
            if (unit.first instanceof User user) {
                // Many models refuse two messages of a person in a row.
                said.append(said.isEmpty() ? "" : "\n\n").append(user.text());
                continue;
            }
            flush(said, messages);
            messages.add(unit.first.json());
            unit.results.forEach(result -> messages.add(result.json()));
        }
        flush(said, messages);
        return messages;
    }

    private static void flush(StringBuilder said, ArrayNode messages) {
        if (!said.isEmpty()) {
            messages.add(new User(said.toString()).json());
            said.setLength(0);
        }
    }

    private void write(ObjectNode line) {
        append((JSON.writeValueAsString(line) + "\n").getBytes(UTF_8));
    }

    private void append(byte[] bytes) {
        if (addedLength + bytes.length > added.length) {
            added = Arrays.copyOf(added, Math.max(added.length * 2, addedLength + bytes.length));
        }
        System.arraycopy(bytes, 0, added, addedLength, bytes.length);
        addedLength += bytes.length;
    }

    /** The whole lines from a byte on, as many as fit into a piece, or one that is longer. */
    synchronized byte[] transcript(long from) {
        if (from < before) {
            byte[] kept = past.transcript().orElse(new byte[0]);
            return lines(kept, Math.min(kept.length, before), from);
        }
        return lines(added, addedLength, from - before);
    }

    private static byte[] lines(byte[] bytes, int length, long from) {
        if (from < 0 || from >= length) {
            return new byte[0];
        }
        int start = (int) from;
        int end = Math.min(length, start + PIECE);
        if (end < length) {
            while (end > start && bytes[end - 1] != '\n') {
                end--;
            }
            if (end == start) {
                do {
                    end++;
                } while (end < length && bytes[end - 1] != '\n');
            }
        }
        return Arrays.copyOfRange(bytes, start, end);
    }
}
