package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.KeptPast;
import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.chat.ChatMessage.Assistant;
import dev.berth.agent.chat.ChatMessage.Result;
import dev.berth.agent.chat.ChatMessage.User;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What of a conversation a model is given, and how it is kept. */
class HistoryTest {
    private static final int BUDGET = 10_000;

    private static History after(byte[] transcript) {
        return new History(KeptPast.transcript(Optional.of(transcript)), BUDGET);
    }

    private static History empty() {
        return new History(Past.NONE, BUDGET);
    }

    private static Assistant uses(String... ids) {
        return new Assistant(
                "",
                List.of(ids).stream()
                        .map(id -> new Call(id, "sandbox", "{\"task\":\"" + id + "\"}"))
                        .toList());
    }

    /** The roles in their order, with the beginnings of what is said. */
    private static List<String> given(History history) {
        return history.messages("be good")
                .valueStream()
                .map(message -> message.path("role").asString() + " " + beginning(message))
                .toList();
    }

    private static String beginning(JsonNode message) {
        String content = message.path("content").asString("");
        return content.substring(0, Math.min(12, content.length()));
    }

    private static byte[] whole(History history) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] piece = history.transcript(0); piece.length > 0; piece = history.transcript(all.size())) {
            all.writeBytes(piece);
        }
        return all.toByteArray();
    }

    @Test
    void itIsTheSameAfterItWasReadBack() {
        History history = empty();
        history.add(new User("one"));
        history.add(uses("a", "b"));
        history.add(new Result("a", "done"));
        history.agent("conversation 7");
        History again = after(whole(history));
        assertThat(given(again)).isEqualTo(given(history));
        assertThat(again.pending()).extracting(Call::id).containsExactly("b");
        assertThat(again.number(again.pending().getFirst())).isEqualTo(2);
        assertThat(again.conversation()).contains("conversation 7");
        assertThat(again.ended()).isFalse();
        assertThat(again.rounds()).isEqualTo(1);
        assertThat(again.tasks()).containsExactly(new Said(false, "a"), new Said(true, "done"));
    }

    @Test
    void whatIsAddedFollowsWhatWasKept() {
        History history = empty();
        history.add(new User("one"));
        byte[] kept = whole(history);
        History again = after(kept);
        again.add(new Assistant("two", List.of()));
        assertThat(new String(again.transcript(kept.length), UTF_8))
                .startsWith("{\"role\":\"assistant\"")
                .endsWith("\n");
        assertThat(whole(again)).startsWith(kept).hasSizeGreaterThan(kept.length);
        assertThat(after(whole(again)).ended()).isTrue();
    }

    @Test
    void aTornLastLineSpoilsNothing() {
        History again = after("{\"role\":\"user\",\"content\":\"one\"}\n{\"role\":\"assi".getBytes(UTF_8));
        again.add(new User("two"));
        assertThat(given(after(whole(again)))).containsExactly("system be good", "user one\n\ntwo");
    }

    @Test
    void linesThatAreNoneOfOursArePassedOver() {
        History again = after("""
                nonsense
                [1, 2]
                {"role":"tool","tool_call_id":"nobody's","content":"x"}
                {"role":"king","content":"x"}
                {"role":"user","content":"one"}
                """.getBytes(UTF_8));
        assertThat(given(again)).containsExactly("system be good", "user one");
    }

    @Test
    void theOldestTurnsAreLeftOutFirstAndToolsWithTheirResults() {
        History history = empty();
        for (int i = 0; i < 10; i++) {
            history.add(new User("question " + i));
            history.add(uses("call" + i));
            history.add(new Result("call" + i, "r".repeat(2000)));
            history.add(new Assistant("answer " + i, List.of()));
        }
        List<String> given = given(history);
        assertThat(given.get(1)).startsWith("user question");
        assertThat(given).contains("user question 9").doesNotContain("user question 0");
        assertThat(given.stream().filter(line -> line.startsWith("tool")).count())
                .isEqualTo(
                        given.stream().filter(line -> line.equals("assistant ")).count())
                .isPositive();
        assertThat(history.messages("be good").path(0).path("content").asString())
                .contains("left out");
    }

    @Test
    void ofATurnThatIsTooLongTheOldestResultsAreLeftOutAndTheQuestionStays() {
        History history = empty();
        history.add(new User("question"));
        for (int i = 0; i < 10; i++) {
            history.add(uses("call" + i));
            history.add(new Result("call" + i, "result " + i + "r".repeat(3000)));
        }
        List<String> given = given(history);
        assertThat(given).contains("user question").last().asString().startsWith("tool result 9");
        assertThat(given).hasSizeLessThan(10);
        assertThat(history.rounds()).isEqualTo(10);
    }

    @Test
    void aMessageThatIsTooLongIsCutInTheMiddleAndSaysSo() {
        History history = empty();
        history.add(new User("begin" + "x".repeat(200_000) + "end"));
        String given = history.messages("").path(1).path("content").asString();
        assertThat(given).startsWith("begin").endsWith("end").contains("characters are left out here");
        assertThat(given.length()).isLessThan(BUDGET);
    }

    @Test
    void whatTheModelRefusedIsNotSaidToItAgain() {
        History history = empty();
        history.add(new User("fine"));
        history.add(new Assistant("yes", List.of()));
        history.add(new User("bad"));
        history.end(true);
        history.add(new User("next"));
        assertThat(given(history)).containsExactly("system be good", "user fine", "assistant yes", "user next");
        assertThat(given(after(whole(history)))).isEqualTo(given(history));
    }

    @Test
    void aRunThatFailedIsOverAndWhatWasSaidStays() {
        History history = empty();
        history.add(new User("one"));
        history.end(false);
        assertThat(after(whole(history)).ended()).isTrue();
        assertThat(given(after(whole(history)))).containsExactly("system be good", "user one");
    }

    @Test
    void itCanBeHalvedUntilNothingIsLeftToLeaveOut() {
        History history = new History(Past.NONE, 100_000);
        for (int i = 0; i < 20; i++) {
            history.add(new User("question " + i + "q".repeat(4000)));
            history.add(new Assistant("answer", List.of()));
        }
        int before = given(history).size();
        assertThat(history.halve()).isTrue();
        assertThat(given(history)).hasSizeLessThan(before);
        int times = 0;
        while (history.halve()) {
            assertThat(times++).isLessThan(10);
        }
        assertThat(given(history).get(1)).startsWith("user question");
    }

    @Test
    void argumentsThatAreNoJsonAreNotSaidBackToTheModel() {
        History history = empty();
        history.add(new User("one"));
        history.add(new Assistant("", List.of(new Call("a", "no such tool!", "{oops"))));
        JsonNode function =
                history.messages("").path(2).path("tool_calls").path(0).path("function");
        assertThat(function.path("arguments").asString()).isEqualTo("{}");
        assertThat(function.path("name").asString()).isEqualTo("unknown");
    }
}
