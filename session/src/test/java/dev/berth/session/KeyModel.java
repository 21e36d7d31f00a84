package dev.berth.session;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the session of one key must have, may have and must not have, going by what the server was asked and answered.
 *
 * <p>A write that was acknowledged must be there, unless a delete or a rollback was under way while it was. A delete that was
 * acknowledged leaves nothing of before. What was not acknowledged when the server was killed may have happened or not.
 */
final class KeyModel {
    /** What the server can be asked for one key. */
    enum Kind {
        EXEC,
        WRITE,
        RESOLVE,
        PAUSE,
        STOP,
        ARCHIVE,
        CHECKPOINT,
        ROLLBACK,
        DELETE;

        boolean writes() {
            return this == EXEC || this == WRITE;
        }
    }

    /** One of them, from the question to the answer. */
    static final class Operation {
        final long number;
        final Kind kind;
        final String arguments;
        /** Whether no delete or rollback can have come between its question and its answer. */
        private boolean undisturbed;
        /** Of a checkpoint, what it must have; of a delete, what it takes away. */
        private final Map<String, String> files = new HashMap<>();

        private Operation(long number, Kind kind, String arguments) {
            this.number = number;
            this.kind = kind;
            this.arguments = arguments;
        }

        private boolean disturbs() {
            return kind == Kind.DELETE || kind == Kind.ROLLBACK;
        }
    }

    private final Map<Long, Operation> asked = new HashMap<>();
    private final Map<String, String> must = new HashMap<>();
    private final Map<String, String> may = new HashMap<>();
    private final Set<String> mustNot = new HashSet<>();
    private final TreeMap<Integer, Map<String, String>> points = new TreeMap<>();

    /** Asks for something of that kind; one that makes no sense now becomes a write. */
    Operation ask(long number, Kind wanted, Random random) {
        Kind kind = wanted == Kind.ROLLBACK && points.isEmpty() ? Kind.EXEC : wanted;
        int turn = 0;
        if (kind == Kind.ROLLBACK) {
            Integer before = points.lowerKey(points.lastKey());
            turn = before == null || random.nextBoolean() ? points.lastKey() : before;
        }
        String arguments = kind.writes() ? "f" + number + " c" + number : kind == Kind.ROLLBACK ? "" + turn : "";
        Operation operation = new Operation(number, kind, arguments);
        operation.undisturbed = asked.values().stream().noneMatch(Operation::disturbs);
        switch (kind) {
            case CHECKPOINT -> operation.files.putAll(must);
            case DELETE -> askedToDelete(operation);
            case ROLLBACK -> askedToRollBack(points.getOrDefault(turn, Map.of()));
            default -> {}
        }
        asked.put(number, operation);
        return operation;
    }

    private void askedToDelete(Operation delete) {
        may.putAll(must);
        must.clear();
        points.clear();
        delete.files.putAll(may);
        asked.values().forEach(other -> other.undisturbed = false);
    }

    private void askedToRollBack(Map<String, String> point) {
        may.putAll(must);
        must.keySet().retainAll(point.keySet());
        may.keySet().removeAll(must.keySet());
        for (Operation other : asked.values()) {
            if (other.kind == Kind.CHECKPOINT) {
                other.files.keySet().retainAll(point.keySet());
            } else {
                other.undisturbed = false;
            }
        }
    }

    void acknowledged(long number, String result) {
        Operation operation = answered(number);
        switch (operation.kind) {
            case EXEC, WRITE -> {
                String[] file = operation.arguments.split(" ");
                (operation.undisturbed ? must : may).put(file[0], file[1]);
            }
            case CHECKPOINT -> {
                if (operation.undisturbed) {
                    points.put(Integer.parseInt(result), Map.copyOf(operation.files));
                }
            }
            case DELETE -> {
                mustNot.addAll(operation.files.keySet());
                may.keySet().removeAll(operation.files.keySet());
            }
            default -> {}
        }
    }

    private Operation answered(long number) {
        return Objects.requireNonNull(asked.remove(number), "an answer without a question");
    }

    /** An error is no promise of either. */
    void refused(long number) {
        unsure(answered(number));
    }

    void killed() {
        asked.values().forEach(this::unsure);
        asked.clear();
    }

    private void unsure(Operation operation) {
        if (operation.kind.writes()) {
            String[] file = operation.arguments.split(" ");
            may.put(file[0], file[1]);
        }
    }

    boolean needsNothing() {
        return must.isEmpty();
    }

    int files() {
        return must.size();
    }

    /** Empty if this is what the session may have, or else what is wrong with it. */
    String judge(Map<String, String> found) {
        Map<String, String> wrong = new TreeMap<>();
        must.forEach((file, content) -> {
            if (!content.equals(found.get(file))) {
                wrong.put(file, "should be " + content + ", is " + found.get(file));
            }
        });
        for (String file : found.keySet()) {
            if (mustNot.contains(file)) {
                wrong.put(file, "was deleted");
            } else if (!must.containsKey(file) && !may.containsKey(file)) {
                wrong.put(file, "was never written");
            }
        }
        return wrong.isEmpty() ? "" : wrong.toString();
    }
}
