package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.berth.channel.Board;
import dev.berth.channel.Board.Card;
import dev.berth.channel.Board.Card.Decision;
import dev.berth.channel.Board.End;
import dev.berth.channel.Board.Shown;
import dev.berth.channel.Board.Step;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Files;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import dev.berth.channel.slack.FakeSlack.Button;
import dev.berth.channel.slack.FakeSlack.Seen;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A thread comes to look like a board. */
final class ShowTest {
    private static final String CHANNEL = "C1";
    private static final byte[] PICTURE = "picture".getBytes(UTF_8);
    private static final Files FILES = file -> new ByteArrayInputStream(PICTURE);

    private final FakeSlack slack = new FakeSlack();
    private final ScriptedInbox inbox = new ScriptedInbox(slack);
    private final List<SlackChannel> channels = new ArrayList<>();
    private SlackChannel channel = server(Duration.ZERO);
    private final String thread = slack.says("U1", CHANNEL, "a question");
    private String memo = "";

    /** Another server, which knows nothing of what this one has done. */
    private SlackChannel server(Duration pace) {
        SlackChannel made = new SlackChannel(slack.httpConfig().pace(pace), Optional.empty());
        channels.add(made);
        made.listen(inbox);
        SlackHttp http = made.http();
        slack.sendTo((headers, body) -> {
            try {
                return http.handle("POST", "events", java.util.Map.of(), headers, body)
                        .status();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        return made;
    }

    @AfterEach
    void close() {
        channels.forEach(SlackChannel::close);
        slack.close();
    }

    private static Board board(String status, String text) {
        return new Board(
                "run1", new Person("U1", "Ada"), status, text, List.of(), 0, List.of(), List.of(), Optional.empty());
    }

    private static Board with(Board b, List<Step> steps, int earlier) {
        return new Board(b.run(), b.requester(), b.status(), b.text(), steps, earlier, b.cards(), b.files(), b.end());
    }

    private static Board with(Board b, Card... cards) {
        return new Board(
                b.run(),
                b.requester(),
                b.status(),
                b.text(),
                b.steps(),
                b.earlierSteps(),
                List.of(cards),
                b.files(),
                b.end());
    }

    private static Board with(Board b, Shown... files) {
        return new Board(
                b.run(),
                b.requester(),
                b.status(),
                b.text(),
                b.steps(),
                b.earlierSteps(),
                b.cards(),
                List.of(files),
                b.end());
    }

    private static Board ended(Board b, boolean ok, String note) {
        return new Board(
                b.run(),
                b.requester(),
                "",
                b.text(),
                b.steps(),
                b.earlierSteps(),
                b.cards(),
                b.files(),
                Optional.of(new End(ok, note.isEmpty() ? Optional.empty() : Optional.of(note))));
    }

    private static Step step(int number, Step.State state) {
        return new Step("call" + number, "Run command " + number, state, "output " + number);
    }

    private static Shown picture() {
        return new Shown("art1", "plot.png", "The plot", "image/png", PICTURE.length);
    }

    private void show(Board board) throws InterruptedException {
        memo = channel.show(
                new Place("slack", FakeSlack.TEAM, CHANNEL, thread),
                new Spot(CHANNEL, thread, thread).json(),
                board,
                FILES,
                memo);
    }

    private List<Seen> answers() {
        return slack.answers(CHANNEL, thread);
    }

    @Test
    void aStatusComesFirstWithAButtonToStopThenTheAnswerAlone() throws Exception {
        show(board("Starting the computer", ""));
        assertThat(answers()).hasSize(1);
        assertThat(answers().getFirst().text()).isEqualTo("_Starting the computer_");
        assertThat(answers().getFirst().buttons()).containsExactly(new Button("berth_stop", "Stop", "run1"));

        show(board("", "The answer"));
        assertThat(answers()).extracting(Seen::text).containsExactly("_Working…_", "The answer");
        show(board("", "The answer is **42**"));
        assertThat(answers()).extracting(Seen::text).containsExactly("_Working…_", "The answer is *42*");

        show(ended(board("", "The answer is **42**."), true, ""));
        assertThat(answers()).extracting(Seen::text).containsExactly("The answer is *42*.");
        assertThat(answers().getFirst().buttons()).isEmpty();
    }

    @Test
    void whatIsTheSameIsNotWrittenAgain() throws Exception {
        show(board("Thinking", "Text"));
        int updates = slack.calls("chat.update");
        show(board("Thinking", "Text"));
        assertThat(slack.calls("chat.update")).isEqualTo(updates);
        assertThat(slack.calls("chat.postMessage")).isEqualTo(2);
    }

    @Test
    void aMessageIsNotChangedMoreOftenThanOnceInAWhile() throws Exception {
        channel = server(Duration.ofMillis(300));
        for (int i = 1; i <= 4; i++) {
            show(board("Step " + i, ""));
        }
        List<Long> changes = slack.changes(CHANNEL, answers().getFirst().ts());
        assertThat(changes).hasSize(4);
        for (int i = 1; i < changes.size(); i++) {
            // Both ends are measured at the receiver, so a little may be lost on the way.
            assertThat(changes.get(i) - changes.get(i - 1)).isGreaterThan(200);
        }
    }

    @Test
    void stepsAreOneMessageThatShowsTheLastOnes() throws Exception {
        List<Step> steps = new ArrayList<>();
        for (int i = 1; i <= 11; i++) {
            steps.add(step(i, Step.State.DONE));
        }
        steps.add(step(12, Step.State.FAILED));
        steps.add(step(13, Step.State.RUNNING));
        show(with(board("", ""), steps, 2));
        assertThat(answers()).hasSize(1);
        assertThat(answers().getFirst().text())
                .startsWith("_7 earlier steps_\n✓ Run command 6\n")
                .contains("✗ Run command 12\n▸ Run command 13\n```\noutput 13\n```")
                .doesNotContain("command 5");

        show(ended(with(board("", "All done"), steps, 2), true, ""));
        assertThat(answers()).hasSize(2);
        assertThat(answers().getFirst().text()).contains("◦ Run command 13").doesNotContain("output");
        assertThat(answers().getFirst().buttons()).isEmpty();
        assertThat(answers().getLast().text()).isEqualTo("All done");
    }

    @Test
    void hostileStepsFitAndMentionNobody() throws Exception {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            steps.add(
                    new Step("c" + i, "<!channel>&&&```*_".repeat(100), Step.State.RUNNING, "```<!here>&".repeat(100)));
        }
        show(with(board("<!channel>", ""), steps, 0));
        assertThat(answers().getFirst().text()).doesNotContain("<!").doesNotContain("<@");
    }

    @Test
    void aLongAnswerIsSeveralMessages() throws Exception {
        String paragraph = "word ".repeat(300).strip();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 5; i++) {
            text.append(paragraph).append("\n\n");
            show(board("", text.toString()));
        }
        show(ended(board("", text.toString()), true, ""));
        assertThat(answers()).hasSize(5).extracting(Seen::text).containsOnly(paragraph);
    }

    @Test
    void anAnswerThatBeginsAgainReplacesTheFirst() throws Exception {
        show(board("", ("long ".repeat(500) + "\n\n").repeat(3)));
        show(ended(board("", "short"), true, ""));
        assertThat(answers()).extracting(Seen::text).containsExactly("short");
    }

    @Test
    void filesComeIntoTheThreadOnce() throws Exception {
        show(with(board("", "See the plot"), picture()));
        show(ended(with(board("", "See the plot"), picture()), true, ""));
        List<Seen> withFiles =
                answers().stream().filter(seen -> !seen.files().isEmpty()).toList();
        assertThat(withFiles).hasSize(1);
        assertThat(withFiles.getFirst().files().getFirst().name()).isEqualTo("plot.png");
        assertThat(withFiles.getFirst().files().getFirst().title()).isEqualTo("The plot");
        assertThat(withFiles.getFirst().files().getFirst().content()).isEqualTo(PICTURE);
    }

    @Test
    void aFileThatCannotBeShownIsNamed() throws Exception {
        Files gone = _ -> {
            throw SandboxException.notFound("it is gone");
        };
        Place place = new Place("slack", FakeSlack.TEAM, CHANNEL, thread);
        Board board = with(board("", "x"), picture(), new Shown("art2", "none.txt", "", "text/plain", 0));
        channel.show(place, new Spot(CHANNEL, thread, thread).json(), ended(board, true, ""), gone, "");
        assertThat(answers())
                .extracting(Seen::text)
                .anySatisfy(text -> assertThat(text).contains("plot.png").contains("Ask for it again"))
                .anySatisfy(text -> assertThat(text).contains("none.txt").contains("is empty"));
    }

    @Test
    void aCardHasButtonsUntilSomebodyDecides() throws Exception {
        Card asked = new Card("ap1", "bash", "Run a command", "rm -rf /tmp/x", Decision.REQUESTED, Optional.empty());
        show(with(board("", ""), asked));
        Seen card = answers().getLast();
        assertThat(card.text()).contains("Run a command").contains("rm -rf /tmp/x");
        assertThat(card.buttons())
                .containsExactly(
                        new Button("berth_once", "Allow once", "ap1"),
                        new Button("berth_always", "Always in this thread", "ap1"),
                        new Button("berth_deny", "Deny", "ap1"));

        slack.presses("U2", CHANNEL, card.ts(), "Always in this thread");
        assertThat(inbox.awaitTold()).isEqualTo("ALWAYS ap1 slack:" + FakeSlack.TEAM + ":C1:" + thread + " Bob");

        show(with(
                board("", ""),
                new Card("ap1", "bash", "Run a command", "rm -rf /tmp/x", Decision.APPROVED, Optional.of("Bob"))));
        assertThat(answers().getLast().ts()).isEqualTo(card.ts());
        assertThat(answers().getLast().buttons()).isEmpty();
        assertThat(answers().getLast().text()).contains("Allowed by Bob");
    }

    @Test
    void whoMayNotDecideIsToldAlone() throws Exception {
        show(with(board("", ""), new Card("ap1", "bash", "Run", "", Decision.REQUESTED, Optional.empty())));
        inbox.answer = "only Ada may decide that";
        slack.presses("U2", CHANNEL, answers().getLast().ts(), "Deny");
        assertThat(slack.awaitWhisper("U2").text()).isEqualTo("only Ada may decide that");
    }

    @Test
    void theStopButtonStops() throws Exception {
        show(board("Busy", ""));
        slack.presses("U1", CHANNEL, answers().getFirst().ts(), "Stop");
        assertThat(inbox.awaitTold()).isEqualTo("stop slack:" + FakeSlack.TEAM + ":C1:" + thread + " Ada");
        inbox.stops = false;
        slack.presses("U2", CHANNEL, answers().getFirst().ts(), "Stop");
        assertThat(slack.awaitWhisper("U2").text()).contains("nothing to stop");
    }

    @Test
    void aFailureIsToldAtTheEnd() throws Exception {
        show(board("Starting", ""));
        show(ended(board("", ""), false, "The model did not answer. Ask again in a minute."));
        assertThat(answers())
                .extracting(Seen::text)
                .containsExactly(":warning: The model did not answer. Ask again in a minute.");
    }

    @Test
    void anotherServerGoesOnWithTheMemo() throws Exception {
        show(with(board("", "First half"), List.of(step(1, Step.State.DONE)), 0));
        channel = server(Duration.ZERO);
        show(ended(with(board("", "First half, second half"), List.of(step(1, Step.State.DONE)), 0), true, ""));
        assertThat(answers()).extracting(Seen::text).containsExactly("✓ Run command 1", "First half, second half");
        channel = server(Duration.ZERO);
        show(ended(with(board("", "First half, second half"), List.of(step(1, Step.State.DONE)), 0), true, ""));
        assertThat(answers()).hasSize(2);
    }

    @Test
    void aServerThatEndedBeforeItsMemoWasStoredIsNotRepeated() throws Exception {
        Board whole = ended(
                with(with(board("", "The text"), List.of(step(1, Step.State.DONE)), 0), picture()),
                false,
                "It failed.");
        show(whole);
        List<Seen> before = answers();
        channel = server(Duration.ZERO);
        memo = "";
        show(whole);
        assertThat(answers())
                .extracting(Seen::ts)
                .isEqualTo(before.stream().map(Seen::ts).toList());
    }

    @Test
    void anAnswerOfSlackThatIsLostDoesNotMakeAMessageTwice() throws Exception {
        slack.losesAnswer("chat.postMessage");
        assertThatThrownBy(() -> show(board("", "The text")))
                .asInstanceOf(type(ChannelException.class))
                .matches(e -> !e.lasting());
        show(board("", "The text"));
        assertThat(answers()).extracting(Seen::text).containsExactly("_Working…_", "The text");
    }

    @Test
    void whoIsToldToWaitWaits() throws Exception {
        show(board("One", ""));
        slack.limits("chat.update", Duration.ofSeconds(1));
        show(board("Two", ""));
        assertThat(answers()).extracting(Seen::text).containsExactly("_Two_");
        assertThat(slack.impatient()).isZero();
    }

    @Test
    void whatIsOfNoUseToTryAgainIsSaidToBe() {
        for (String error :
                List.of("channel_not_found", "token_revoked", "account_inactive", "is_archived", "not_in_channel")) {
            slack.fails("chat.postMessage", error, 1);
            assertThatThrownBy(() -> show(board("x", "")))
                    .asInstanceOf(type(ChannelException.class))
                    .matches(ChannelException::lasting)
                    .satisfies(e -> assertThat(e.getMessage()).contains(error).doesNotContain(FakeSlack.BOT_TOKEN));
        }
        slack.fails("chat.postMessage", "internal_error", 1);
        assertThatThrownBy(() -> show(board("x", "")))
                .asInstanceOf(type(ChannelException.class))
                .matches(e -> !e.lasting());
    }

    @Test
    void aMessageThatSomebodyDeletedStaysDeleted() throws Exception {
        show(board("One", ""));
        slack.deletes(CHANNEL, answers().getFirst().ts());
        show(board("Two", "Text"));
        assertThat(answers()).extracting(Seen::text).containsExactly("Text");
    }

    @Test
    void thePanelHasItsOwnLineForTheStatus() throws Exception {
        String direct = FakeSlack.direct("U1");
        String panel = slack.opensPanel("U1");
        slack.awaitThread(direct, panel, seen -> seen.size() == 2);
        slack.awaitPrompts(direct, panel);
        Place place = new Place("slack", FakeSlack.TEAM, direct, panel);
        String reply = new Spot(direct, panel, panel).json();
        String noted = channel.show(place, reply, board("Thinking", ""), FILES, "");
        assertThat(slack.status(direct, panel)).isEqualTo("Thinking");
        assertThat(slack.answers(direct, panel)).hasSize(1);

        channel.show(place, reply, ended(board("", "Done it"), true, ""), FILES, noted);
        assertThat(slack.status(direct, panel)).isEmpty();
        assertThat(slack.answers(direct, panel).getLast().text()).isEqualTo("Done it");
    }

    @Test
    void directMessagesAreAnsweredOutsideOfThreads() throws Exception {
        String direct = FakeSlack.direct("U1");
        String asked = slack.says("U1", direct, "hello");
        Place place = inbox.awaitMessage(1).place();
        channel.show(place, inbox.awaitMessage(1).reply(), ended(board("", "Hello Ada"), true, ""), FILES, "");
        assertThat(slack.channel(direct)).extracting(Seen::text).containsExactly("hello", "Hello Ada");
        assertThat(slack.channel(direct).getFirst().ts()).isEqualTo(asked);

        channel.notice(place, "The job **ended**.", List.of(picture()), FILES);
        assertThat(slack.channel(direct).get(2).text()).isEqualTo("The job *ended*.");
        assertThat(slack.channel(direct).get(3).files()).hasSize(1);
    }

    @Test
    void aNoticeGoesToItsThread() throws Exception {
        channel.notice(new Place("slack", FakeSlack.TEAM, CHANNEL, thread), "Late files", List.of(picture()), FILES);
        assertThat(answers()).hasSize(2);
        assertThat(answers().getFirst().text()).isEqualTo("Late files");
    }
}
