package dev.berth.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.run.RunEvent;
import dev.berth.channel.Board.Card.Decision;
import dev.berth.channel.Board.Step.State;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionEvent;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class BoardBuilderTest {
    private static final Person ANNA = new Person("U1", "Anna");

    private final BoardBuilder builder = new BoardBuilder("r", ANNA);
    private long seq;

    private void add(RunEvent event) {
        add(event.logged("agent"));
    }

    private void add(SessionEvent event) {
        builder.add(new LoggedEvent(++seq, Instant.EPOCH, event.type(), event.actor(), Optional.empty(), event.data()));
    }

    private void text(String text) {
        add(new RunEvent.Text("r", text));
    }

    private void tool(String call) {
        add(new RunEvent.ToolStarted("r", call, "bash", "Running " + call, Map.of()));
        add(new RunEvent.ToolEnded("r", call, true, "output of " + call));
    }

    private void end(Outcome outcome, String error) {
        add(new RunEvent.Ended("r", outcome, error.isEmpty() ? Optional.empty() : Optional.of(error)));
    }

    private String note() {
        return builder.board().end().orElseThrow().note().orElseThrow();
    }

    @Test
    void piecesOfTextThatToolsSeparateHaveABlankLineBetween() {
        text("I will ");
        text("look.");
        tool("a");
        text("Found it.\n");
        tool("b");
        text("Done.");
        assertThat(builder.board().text()).isEqualTo("I will look.\n\nFound it.\n\nDone.");
    }

    @Test
    void onlyTheLastStepsAreThereAndTheOthersAreCounted() {
        for (int i = 1; i <= 47; i++) {
            tool("c" + i);
        }
        Board board = builder.board();
        assertThat(board.steps()).hasSize(40);
        assertThat(board.earlierSteps()).isEqualTo(7);
        assertThat(board.steps().getFirst().call()).isEqualTo("c8");
        assertThat(board.steps().getLast().title()).isEqualTo("Running c47");
    }

    @Test
    void theEndOfALongOutputIsKept() {
        add(new RunEvent.ToolStarted("r", "a", "bash", "", Map.of()));
        add(new RunEvent.ToolUpdated("r", "a", "x".repeat(1000) + "\uD83D\uDE00".repeat(200) + "end"));
        Board.Step step = builder.board().steps().getFirst();
        assertThat(step.title()).isEqualTo("bash");
        assertThat(step.state()).isEqualTo(State.RUNNING);
        assertThat(step.output()).startsWith("…\uD83D\uDE00").endsWith("end").hasSizeLessThanOrEqualTo(260);
    }

    @Test
    void theStatusSaysWhatNeitherTextNorAStepSays() {
        assertThat(builder.board().status()).isEqualTo(BoardBuilder.STARTING);
        add(new RunEvent.Began("r", "pi"));
        assertThat(builder.board().status()).isEqualTo(BoardBuilder.THINKING);
        add(new RunEvent.Status("r", "Retrying\n(1/4)"));
        assertThat(builder.board().status()).isEqualTo("Retrying (1/4)");
        add(new RunEvent.ToolStarted("r", "a", "bash", "ls", Map.of()));
        assertThat(builder.board().status()).isEmpty();
        add(new RunEvent.ToolEnded("r", "a", true, ""));
        assertThat(builder.board().status()).isEqualTo(BoardBuilder.THINKING);
        text("It is done.");
        assertThat(builder.board().status()).isEmpty();
    }

    @Test
    void aFailureBeforeAnythingWasDoneSaysToSendItAgain() {
        end(Outcome.FAILED, "no model answers");
        assertThat(note()).contains("could not be begun", "no model answers.", "Send the message again");
    }

    @Test
    void aFailureAfterStepsSaysThatTheyAreKept() {
        tool("a");
        tool("b");
        end(Outcome.FAILED, "the model went away.");
        assertThat(note()).contains("after 2 steps", "the model went away. What", "kept", "go on");
    }

    @Test
    void aFailureInTheMiddleOfAnAnswerSaysHowToHearTheRest() {
        text("The first of");
        end(Outcome.FAILED, "the connection was cut");
        assertThat(note()).contains("The answer ends here", "the connection was cut.", "the rest");
    }

    @Test
    void whatDidNotEndIsNotLeftRunning() {
        add(new RunEvent.ToolStarted("r", "a", "bash", "sleep", Map.of()));
        end(Outcome.ABORTED, "");
        Board board = builder.board();
        assertThat(board.steps().getFirst().state()).isEqualTo(State.FAILED);
        assertThat(board.end().orElseThrow().ok()).isFalse();
        assertThat(board.status()).isEmpty();
    }

    @Test
    void anEndWithoutAWordSaysSo() {
        end(Outcome.DONE, "");
        assertThat(builder.board().end().orElseThrow().ok()).isTrue();
        assertThat(note()).contains("without an answer");
    }

    private SessionEvent approval(String id, String state, String actor) {
        return SessionEvent.of("approval." + state)
                .by(actor)
                .with("run_id", "r")
                .with("approval_id", id)
                .with("tool", "bash")
                .with("title", state.equals("requested") ? "Remove everything" : "")
                .with("detail", "rm -rf /");
    }

    @Test
    void aCardSaysWhatIsAskedAndWhoDecided() {
        add(approval("a1", "requested", "agent"));
        Board asked = builder.board();
        assertThat(asked.cards().getFirst())
                .isEqualTo(new Board.Card(
                        "a1", "bash", "Remove everything", "rm -rf /", Decision.REQUESTED, Optional.empty()));
        assertThat(asked.status()).contains("Waiting");
        add(approval("a1", "denied", "Bert"));
        assertThat(builder.board().cards().getFirst())
                .isEqualTo(new Board.Card(
                        "a1", "bash", "Remove everything", "rm -rf /", Decision.DENIED, Optional.of("Bert")));
    }

    @Test
    void aCardThatNobodyDecidedAboutRunsOutWithItsRun() {
        add(approval("a1", "requested", "agent"));
        end(Outcome.FAILED, "timeout");
        assertThat(builder.board().cards().getFirst().state()).isEqualTo(Decision.EXPIRED);
    }

    @Test
    void whatOtherRunsDoIsNotThere() {
        builder.board();
        add(new RunEvent.Text("other", "not mine"));
        add(SessionEvent.of("tool.run"));
        assertThat(builder.changed()).isFalse();
        assertThat(builder.board().text()).isEmpty();
    }

    @Test
    void nothingComesAfterTheEnd() {
        text("all");
        end(Outcome.DONE, "");
        text("more");
        assertThat(builder.board().text()).isEqualTo("all");
    }

    @Test
    void anAnswerWithoutEndIsCut() {
        for (int i = 0; i < 300; i++) {
            text("x".repeat(1000));
        }
        assertThat(builder.board().text()).hasSizeLessThan(201_000).contains("too long");
    }
}
