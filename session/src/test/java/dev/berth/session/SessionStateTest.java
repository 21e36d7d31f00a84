package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SessionStateTest {
    private static final Path DOCS = Path.of("../docs/sessions.md");

    /** Run with {@code -Dberth.write.docs=true} to bring the page up to date. */
    @Test
    void thePictureInTheDocsIsTheTable() throws IOException {
        String page = Files.readString(DOCS);
        String drawn = page.replaceFirst("(?s)```mermaid\nstateDiagram-v2\n.*?```", picture());
        if (Boolean.getBoolean("berth.write.docs")) {
            Files.writeString(DOCS, drawn);
        }
        assertThat(Files.readString(DOCS)).isEqualTo(drawn);
    }

    private static String picture() {
        StringBuilder lines = new StringBuilder("```mermaid\nstateDiagram-v2\n    [*] --> creating\n");
        for (SessionState from : SessionState.values()) {
            String targets = from.next().stream()
                    .sorted()
                    .map(to -> "    " + from + " --> " + to + "\n")
                    .collect(Collectors.joining());
            lines.append(targets);
        }
        return lines.append("```").toString();
    }

    @ParameterizedTest
    @EnumSource(SessionState.class)
    void everyStateLeadsToLifeAndToTheEnd(SessionState state) {
        assertThat(reachable(state)).contains(SessionState.ACTIVE, SessionState.DESTROYED);
    }

    @Test
    void whatIsDestroyedCanOnlyBeMadeAnew() {
        assertThat(SessionState.DESTROYED.next()).containsExactly(SessionState.CREATING);
        assertFails(ErrorCode.CONFLICT, () -> SessionState.DESTROYED.checkNext(SessionState.ACTIVE));
    }

    @ParameterizedTest
    @EnumSource(SessionState.class)
    void everyStateButTheEndCanBeDeleted(SessionState state) {
        if (!EnumSet.of(SessionState.DELETING, SessionState.DESTROYED).contains(state)) {
            assertThat(state.next()).contains(SessionState.DELETING);
        }
    }

    private static Set<SessionState> reachable(SessionState from) {
        Set<SessionState> seen = EnumSet.of(from);
        Deque<SessionState> todo = new ArrayDeque<>(seen);
        while (!todo.isEmpty()) {
            for (SessionState next : todo.pop().next()) {
                if (seen.add(next)) {
                    todo.push(next);
                }
            }
        }
        return seen;
    }
}
