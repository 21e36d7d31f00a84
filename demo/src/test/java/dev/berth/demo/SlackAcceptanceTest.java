package dev.berth.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.channel.slack.FakeSlack;
import dev.berth.channel.slack.FakeSlack.Attached;
import dev.berth.channel.slack.FakeSlack.Seen;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What people in a thread rely on, with the server as they install it and the real pi. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlackAcceptanceTest {
    private static final String ADA = "U1";
    private static final String CHANNEL = "C0TEST";
    private static final String MENTION = "<@" + FakeSlack.BOT + "> ";

    private Stage stage;

    @BeforeAll
    void open() throws Exception {
        TestingTemplates.agent();
        stage = new Stage(TestMachine.templates());
        stage.start();
        stage.keepKey("sk-of-the-test");
    }

    @AfterAll
    void close() throws Exception {
        stage.close();
    }

    /** Begins a thread, and returns when the bot has answered. */
    private String begin(String text, String answer, Attached... attached) {
        stage.model().says(answer);
        String thread = stage.slack().says(ADA, CHANNEL, MENTION + text, attached);
        awaitAnswer(thread, answer);
        return thread;
    }

    private void goOn(String thread, String text, String answer) {
        stage.model().says(answer);
        stage.slack().says(ADA, CHANNEL, thread, text);
        awaitAnswer(thread, answer);
    }

    private List<Seen> awaitAnswer(String thread, String answer) {
        return stage.slack()
                .awaitThread(
                        CHANNEL,
                        thread,
                        messages -> messages.stream()
                                        .anyMatch(it -> it.bot() && it.text().contains(answer))
                                && messages.stream()
                                        .flatMap(it -> it.buttons().stream())
                                        .findAny()
                                        .isEmpty());
    }

    /** By its name, which no other computer has. */
    private String sandbox(String thread) throws IOException, InterruptedException {
        return inside(thread, "hostname").strip();
    }

    private String inside(String thread, String command) throws IOException, InterruptedException {
        return stage.run(Stage.session(CHANNEL, thread), command);
    }

    @Test
    void aNewThreadGetsAComputerAndAnAnswer() throws Exception {
        String thread = begin("hello", "Hello from a new computer.");
        assertThat(sandbox(thread)).isNotEmpty();
        // The key went to the model, and the sandbox has a placeholder where it would be.
        assertThat(stage.model().heads().getLast()).contains("Bearer sk-of-the-test");
        assertThat(inside(thread, "env; cat ~/.pi/agent/*.json")).doesNotContain("sk-of-the-test");
    }

    @Test
    void theSameThreadKeepsItsComputer() throws Exception {
        stage.model().calls("bash", Map.of("command", "echo kept > note.txt"));
        String thread = begin("write a note", "I wrote it.");
        String sandbox = sandbox(thread);
        stage.model().calls("bash", Map.of("command", "cat note.txt"));
        goOn(thread, "what did it say?", "It says kept.");
        goOn(thread, "thanks", "You are welcome.");
        assertThat(sandbox(thread)).isEqualTo(sandbox);
        assertThat(stage.model().lastRequest()).contains("write a note", "kept");
    }

    @Test
    void anAgentThatWasKilledIsStartedAgain() throws Exception {
        String thread = begin("first", "Answer one.");
        inside(thread, "pkill -9 -f 'mode rpc'; true");
        goOn(thread, "second", "Answer two.");
        assertThat(stage.model().lastRequest()).contains("first", "Answer one.", "second");
    }

    @Test
    void aComputerThatWasStoppedIsStartedAgain() throws Exception {
        stage.model().calls("bash", Map.of("command", "echo kept > note.txt"));
        String thread = begin("write a note", "Noted before the stop.");
        String sandbox = sandbox(thread);
        stage.call("POST", "/v1/sessions/" + Stage.encoded(Stage.session(CHANNEL, thread)) + "/stop", Map.of());
        goOn(thread, "still there?", "Still there after the stop.");
        assertThat(sandbox(thread)).isEqualTo(sandbox);
        assertThat(inside(thread, "cat note.txt")).contains("kept");
        assertThat(stage.model().lastRequest()).contains("Noted before the stop.");
    }

    @Test
    void aConversationThatIsGoneIsReplacedAndTheThreadGoesOn() throws Exception {
        String thread = begin("remember the word plover", "I will remember.");
        inside(thread, "pkill -9 -f 'mode rpc'; rm -r ~/.pi");
        goOn(thread, "which word was it?", "It was plover.");
        assertThat(stage.model().lastRequest()).contains("remember the word plover", "I will remember.");
    }

    @Test
    void filesThatComeWithAMessageCanBeUsed() throws Exception {
        stage.model().calls("bash", Map.of("command", "cat uploads/data.txt"));
        String thread = begin(
                "what is in this file?",
                "It says hello.",
                new Attached("data.txt", "text/plain", "hello from the file".getBytes(UTF_8)));
        assertThat(stage.model().lastRequest()).contains("hello from the file");
        assertThat(inside(thread, "cat uploads/data.txt")).contains("hello from the file");
    }

    @Test
    void filesInTheDisplayFolderAreSentToTheThread() {
        stage.model()
                .calls("bash", Map.of("command", "mkdir -p output/display && echo shown > output/display/result.txt"));
        String thread = begin("make a result", "It is made.");
        List<Seen> messages = stage.slack()
                .awaitThread(
                        CHANNEL,
                        thread,
                        now -> now.stream()
                                .flatMap(it -> it.files().stream())
                                .anyMatch(it -> it.name().equals("result.txt")));
        assertThat(messages.stream().flatMap(it -> it.files().stream()).map(it -> new String(it.content(), UTF_8)))
                .containsExactly("shown\n");
    }

    @Test
    void aRunGoesOnWhenTheServerIsKilledAndItsAnswerComesOnce() throws Exception {
        stage.model()
                .calls("bash", Map.of("command", "until [ -e go ]; do sleep 0.05; done; echo went on"))
                .says("It took a while, and is done.");
        String thread = stage.slack().says(ADA, CHANNEL, MENTION + "take your time");
        stage.slack()
                .awaitThread(
                        CHANNEL,
                        thread,
                        now -> now.stream().anyMatch(it -> it.bot() && it.text().contains("until [ -e go ]")));
        stage.kill();
        stage.start();
        inside(thread, "touch go");
        List<Seen> messages = awaitAnswer(thread, "a while, and is done.");
        assertThat(messages.stream().filter(it -> it.text().contains("is done.")))
                .hasSize(1);
    }
}
