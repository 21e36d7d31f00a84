package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Compares rows, sandboxes and machine, while nobody works on them: each must have what the others say, and no more. */
final class KillChecks {
    private final Path data;
    private final KillServer server;

    KillChecks(Path data, KillServer server) {
        this.data = data;
        this.server = server;
    }

    /** The rows that are not destroyed, by key. */
    Map<String, SessionInfo> rows() {
        return server.sessions().list(Optional.empty(), 10_000).stream()
                .collect(Collectors.toMap(row -> row.key().id(), row -> row));
    }

    void everythingBelongsToSomething() throws IOException {
        Map<String, SessionInfo> rows = rows();
        eachRowHasWhatItSays(rows);
        assertThat(strings("SELECT s.session FROM sandboxes s JOIN sessions r ON r.tenant = s.tenant"
                        + " AND r.id = s.session WHERE s.destroyed_at IS NULL AND r.state = 'destroyed'"))
                .as("destroyed sessions with a sandbox that is not ended")
                .isEmpty();
        checkpointsAreThoseOfTheTable();
        assertThat(server.archives().names())
                .as("archives")
                .containsExactlyInAnyOrderElementsOf(
                        strings("SELECT archive_name FROM sessions" + " WHERE archive_name IS NOT NULL"));
        theMachineHasNothingElse();
    }

    private void eachRowHasWhatItSays(Map<String, SessionInfo> rows) {
        Map<String, List<Sandbox>> sandboxes = server.provider().list().stream()
                .collect(Collectors.groupingBy(it -> it.id().value()));
        Map<String, String> wrong = new TreeMap<>();
        rows.forEach((id, row) -> {
            List<Sandbox> own = Optional.ofNullable(
                            sandboxes.remove(row.sandboxId().value()))
                    .orElse(List.of());
            String problem = problem(row, own.size());
            if (!problem.isEmpty()) {
                wrong.put(id, problem + ": " + describe(row));
            }
        });
        assertThat(sandboxes).as("sandboxes without a row").isEmpty();
        assertThat(wrong).as("rows").isEmpty();
    }

    private String problem(SessionInfo row, int sandboxes) {
        boolean lived = row.times().resumedAt().isPresent();
        boolean archived = row.archive().isPresent();
        boolean wanted = switch (row.state()) {
            case ARCHIVED -> false;
            case ERROR -> lived && !archived;
            default -> true;
        };
        long open = strings("SELECT 'open' FROM sandboxes WHERE destroyed_at IS NULL AND session = '"
                        + row.key().id() + "'")
                .size();
        if (SessionState.PASSING.contains(row.state())) {
            return "nobody works on it";
        } else if (sandboxes != (wanted ? 1 : 0)) {
            return "it has " + sandboxes + " sandboxes";
        } else if (row.state() == SessionState.ARCHIVED && !archived) {
            return "it has no archive";
        } else if (row.state() != SessionState.ERROR && open != sandboxes) {
            return "the table of sandboxes has " + open + " that are not ended";
        } else if (row.loss().filter(loss -> loss.kind() != Loss.Kind.PROCESSES).isPresent()) {
            return "it lost files";
        }
        return "";
    }

    String describe(SessionInfo row) {
        return row + "\n"
                + server.sessions().events().read(row.key(), Math.max(0, row.lastEvent() - 40), 40).stream()
                        .map(event -> event.at() + " " + event.type() + " " + event.data())
                        .collect(Collectors.joining("\n"));
    }

    private void checkpointsAreThoseOfTheTable() {
        List<String> known = strings("SELECT coalesce(checkpoint_id, 'unfinished') FROM checkpoints");
        List<String> there = server.provider().checkpoints().stream()
                .map(Checkpoint::id)
                .map(Object::toString)
                .toList();
        assertThat(there).as("checkpoints").containsExactlyInAnyOrderElementsOf(known);
    }

    private void theMachineHasNothingElse() throws IOException {
        Set<String> boxes = names("boxes");
        assertThat(boxes).as("boxes").hasSameSizeAs(server.provider().list());
        for (String box : boxes) {
            assertThat(data.resolve("boxes").resolve(box).resolve("record.json"))
                    .as("record of box " + box)
                    .exists();
        }
        assertThat(names("ids")).as("names").hasSameSizeAs(boxes);
        assertThat(boxes).as("boxes with a cgroup").containsAll(TestMachine.boxesWithCgroup(data));
        for (Mounts.Mounted mount : Mounts.all()) {
            if (mount.target().startsWith(data.resolve("boxes"))) {
                Path box = data.resolve("boxes").relativize(mount.target()).getName(0);
                assertThat(boxes).as("box of mount " + mount).contains(box.toString());
            }
        }
        Set<String> checkpoints = server.provider().checkpoints().stream()
                .map(point -> point.id().toString())
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> trees = names("pool");
        assertThat(trees.stream().filter(tree -> tree.startsWith("checkpoint-")))
                .as("trees of checkpoints")
                .hasSameSizeAs(checkpoints);
        assertThat(trees.stream().filter(tree -> !tree.startsWith("checkpoint-")))
                .as("trees of boxes")
                .hasSameSizeAs(boxes);
        assertThat(names("checkpoints"))
                .as("files of checkpoints")
                .containsExactlyInAnyOrderElementsOf(
                        checkpoints.stream().map(id -> id + ".json").toList());
    }

    Set<String> names(String directory) throws IOException {
        if (!Files.exists(data.resolve(directory))) {
            return Set.of();
        }
        try (Stream<Path> entries = Files.list(data.resolve(directory))) {
            return entries.map(entry -> entry.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    List<String> strings(String sql) {
        return server.database()
                .query(handle -> handle.createQuery(sql).mapTo(String.class).list());
    }
}
