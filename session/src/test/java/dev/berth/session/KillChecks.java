package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
        checkpointsAreThoseOfTheTable();
        assertThat(server.archives().names())
                .as("archives")
                .containsExactlyInAnyOrderElementsOf(
                        strings("SELECT archive_name FROM sessions" + " WHERE archive_name IS NOT NULL"));
        theMachineHasNothingElse();
    }

    private void eachRowHasWhatItSays(Map<String, SessionInfo> rows) {
        Set<String> there = server.provider().list().stream()
                .map(Sandbox::id)
                .map(SandboxId::value)
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> wanted = new TreeSet<>();
        Set<String> madeOnce = new TreeSet<>();
        rows.forEach((id, row) -> {
            assertThat(SessionState.PASSING)
                    .as("a row that nobody works on: " + row)
                    .doesNotContain(row.state());
            boolean lived = row.times().resumedAt().isPresent();
            if (row.state() == SessionState.ARCHIVED) {
                assertThat(row.archive()).as("archive of " + row).isPresent();
            } else if (row.state() != SessionState.ERROR
                    || lived && row.archive().isEmpty()) {
                wanted.add(row.sandboxId().value());
                madeOnce.add(id);
            }
            assertThat(row.loss().filter(loss -> loss.kind() != Loss.Kind.PROCESSES))
                    .as("loss of " + row)
                    .isEmpty();
        });
        assertThat(there).as("sandboxes, and those that rows want").isEqualTo(wanted);
        assertThat(new TreeSet<>(strings("SELECT s.session FROM sandboxes s JOIN sessions r"
                        + " ON r.tenant = s.tenant AND r.id = s.session"
                        + " WHERE s.destroyed_at IS NULL AND r.state <> 'error'")))
                .as("sandboxes that are not ended in their table")
                .isEqualTo(madeOnce.stream()
                        .filter(id -> !SessionState.ERROR.equals(Optional.ofNullable(rows.get(id))
                                .map(SessionInfo::state)
                                .orElse(null)))
                        .collect(Collectors.toCollection(TreeSet::new)));
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
