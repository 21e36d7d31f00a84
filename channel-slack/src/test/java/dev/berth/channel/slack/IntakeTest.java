package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.channel.Inbox;
import dev.berth.channel.Incoming;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import dev.berth.channel.slack.FakeSlack.Attached;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What people do in Slack comes to the inbox, over Socket Mode. */
final class IntakeTest {
    private static final String CHANNEL = "C1";
    private static final String MENTION = "<@" + FakeSlack.BOT + "> ";

    private final FakeSlack slack = new FakeSlack();
    private final ScriptedInbox inbox = new ScriptedInbox(slack);
    private final SlackChannel channel =
            new SlackChannel(slack.socketConfig(), Optional.empty(), InstantSource.system(), Duration.ofMillis(200));

    @BeforeEach
    void listen() {
        channel.listen(inbox);
        slack.awaitConnections(1);
    }

    @AfterEach
    void close() {
        channel.close();
        slack.close();
    }

    @Test
    void aMentionBeginsAConversationInItsThread() {
        String ts = slack.says("U1", CHANNEL, MENTION + "ask <@U2> &amp; look at <https://a.b|this>");

        Incoming message = inbox.awaitMessage(1);
        assertThat(message.place()).isEqualTo(new Place("slack", FakeSlack.TEAM, CHANNEL, ts));
        assertThat(message.place().session()).isEqualTo("slack:" + FakeSlack.TEAM + ":C1:" + ts);
        assertThat(message.person()).isEqualTo(new Person("U1", "Ada"));
        assertThat(message.text()).isEqualTo("ask @Bob & look at this (https://a.b)");
        assertThat(message.id()).isEqualTo("C1:" + ts);
    }

    @Test
    void aThreadGoesOnWithoutAMention() {
        String ts = slack.says("U1", CHANNEL, MENTION + "begin");
        inbox.awaitMessage(1);
        slack.says("U2", CHANNEL, ts, "and now this");

        Incoming second = inbox.awaitMessage(2);
        assertThat(second.place().thread()).isEqualTo(ts);
        assertThat(second.person().name()).isEqualTo("Bob");
        assertThat(second.text()).isEqualTo("and now this");
    }

    @Test
    void whatIsNotForTheBotIsLeftAlone() {
        String thread = slack.says("U1", CHANNEL, "nobody is mentioned");
        slack.says("U2", CHANNEL, thread, "nor here");
        slack.botSays(CHANNEL, "", MENTION + "a bot");
        slack.says(FakeSlack.BOT, FakeSlack.direct("U1"), "its own message");
        String ts = slack.says("U1", CHANNEL, MENTION + "for the bot");
        inbox.awaitMessage(1);
        slack.botSays(CHANNEL, ts, "a bot in the thread");
        slack.says("U1", CHANNEL, ts, "the end");

        inbox.awaitMessage(2);
        assertThat(inbox.messages()).extracting(Incoming::text).containsExactly("for the bot", "the end");
    }

    @Test
    void directMessagesAreOneConversationForEachPerson() {
        slack.says("U1", FakeSlack.direct("U1"), "hello");
        slack.says("U1", FakeSlack.direct("U1"), "again");

        inbox.awaitMessage(2);
        assertThat(inbox.messages())
                .extracting(Incoming::place)
                .containsOnly(new Place("slack", FakeSlack.TEAM, "dm", "U1"));
        assertThat(inbox.messages().getFirst().place().session()).isEqualTo("slack:" + FakeSlack.TEAM + ":dm:U1");
    }

    @Test
    void thePanelGreetsAndIsAConversation() {
        String thread = slack.opensPanel("U1");
        String direct = FakeSlack.direct("U1");
        slack.awaitThread(direct, thread, seen -> seen.size() == 2);
        assertThat(slack.awaitPrompts(direct, thread).size()).isEqualTo(3);
        assertThat(slack.answers(direct, thread).getFirst().text()).startsWith("Hello!");

        slack.repeats();
        slack.says("U1", direct, thread, "do it");
        assertThat(inbox.awaitMessage(1).place()).isEqualTo(new Place("slack", FakeSlack.TEAM, direct, thread));
        assertThat(slack.answers(direct, thread)).hasSize(1);
    }

    @Test
    void anEditAndADeletionAreNoNewMessages() {
        String ts = slack.says("U1", CHANNEL, MENTION + "first");
        inbox.awaitMessage(1);
        slack.edits(CHANNEL, ts, MENTION + "first, edited");
        String later = slack.says("U1", CHANNEL, ts, "later");
        inbox.awaitMessage(2);
        slack.edits(CHANNEL, later, "later, edited");
        slack.deletes(CHANNEL, later);
        slack.says("U1", CHANNEL, ts, "last");

        inbox.awaitMessage(3);
        assertThat(inbox.messages()).extracting(Incoming::text).containsExactly("first", "later", "last");
    }

    @Test
    void whatSlackSendsAgainIsTheSameMessage() {
        slack.says("U1", FakeSlack.direct("U1"), "once");
        slack.repeats();
        inbox.awaitRepeated(1);
        slack.losesAcknowledgements(1);
        slack.says("U1", FakeSlack.direct("U1"), "twice");
        inbox.awaitRepeated(2);

        assertThat(slack.redeliveries()).isPositive();
        assertThat(inbox.messages()).extracting(Incoming::text).containsExactly("once", "twice");
    }

    @Test
    void aMessageIsAcknowledgedWhenItIsWrittenDown() {
        // It comes back when the acknowledgement is there.
        slack.says("U1", FakeSlack.direct("U1"), "keep this");
        assertThat(inbox.messages()).extracting(Incoming::text).containsExactly("keep this");
    }

    @Test
    void anInboxThatTakesLongIsNotWaitedFor() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        inbox.receive = _ -> {
            try {
                done.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return Inbox.Received.BEGUN;
        };
        // It comes back when the acknowledgement is there.
        slack.says("U1", FakeSlack.direct("U1"), "slow");
        assertThat(inbox.messages()).isEmpty();
        done.countDown();
        assertThat(inbox.awaitMessage(1).text()).isEqualTo("slow");
    }

    @Test
    void attachmentsAreFetchedWithTheTokenOfTheBot() throws IOException {
        byte[] content = "a,b\n1,2\n".getBytes(UTF_8);
        slack.says("U1", CHANNEL, MENTION + "sum it up", new Attached("../numbers.csv", "text/csv", content));

        Incoming.Attachment file = inbox.awaitMessage(1).attachments().getFirst();
        assertThat(file.name()).isEqualTo("../numbers.csv");
        assertThat(file.size()).isEqualTo(content.length);
        try (InputStream in = file.open()) {
            assertThat(in.readAllBytes()).isEqualTo(content);
        }
    }

    @Test
    void aTokenGoesToSlackAlone() {
        try (SlackApi api = new SlackApi(slack.api(), InstantSource.system());
                Uploads uploads = new Uploads(api)) {
            Workspace workspace = new Workspace(FakeSlack.TEAM, FakeSlack.BOT, FakeSlack.BOT_TOKEN);
            for (String url : List.of(
                    "https://example.com/x",
                    "http://files.slack.com/x",
                    "https://slack.com.example.com/x",
                    "file:///etc/passwd")) {
                assertThatThrownBy(() ->
                                uploads.download(workspace, url, "text/plain").close())
                        .as(url)
                        .hasMessageContaining("not at Slack");
            }
            Workspace stranger = new Workspace(FakeSlack.TEAM, FakeSlack.BOT, "xoxb-wrong");
            slack.says("U1", FakeSlack.direct("U1"), "x", new Attached("a.txt", "text/plain", new byte[] {1}));
            SlackFile file = (SlackFile) inbox.awaitMessage(1).attachments().getFirst();
            assertThatThrownBy(() ->
                            uploads.download(stranger, file.url(), "text/plain").close())
                    .hasMessageContaining("files:read");
        }
    }

    @Test
    void whoMayNotIsToldAlone() {
        inbox.receive = _ -> Inbox.Received.NOT_ALLOWED;
        String ts = slack.says("U1", CHANNEL, MENTION + "let me");
        assertThat(slack.awaitWhisper("U1").text()).contains("may not use me here");
        assertThat(slack.answers(CHANNEL, ts)).isEmpty();

        inbox.receive = _ -> Inbox.Received.TOO_MANY;
        slack.says("U2", CHANNEL, MENTION + "let me too");
        assertThat(slack.awaitWhisper("U2").text()).contains("Wait a minute");
    }

    @Test
    void aFailureIsToldToWhoeverWrote() {
        inbox.receive = _ -> {
            throw new IllegalStateException("the database is down");
        };
        slack.says("U1", CHANNEL, MENTION + "hello");
        assertThat(slack.awaitWhisper("U1").text()).contains("not taken").doesNotContain("database");
    }

    @Test
    void aMentionThatSaysNothingIsAnsweredWithWhatToDo() {
        slack.says("U1", CHANNEL, MENTION);
        assertThat(slack.awaitWhisper("U1").text()).contains("Tell me what to do");
        assertThat(inbox.messages()).isEmpty();
    }

    @Test
    void commandsAreAnsweredToThePersonAlone() {
        inbox.answer = "**idle** since <now>";
        slack.commands("U1", CHANNEL, "/berth", "status");
        assertThat(slack.awaitWhisper("U1").text()).isEqualTo("*idle* since &lt;now&gt;");
        assertThat(inbox.awaitTold()).isEqualTo("command slack:" + FakeSlack.TEAM + ":C1 Ada status");
    }

    @Test
    void commandsInAThreadBeginWithAMark() {
        String ts = slack.says("U1", CHANNEL, MENTION + "begin");
        inbox.awaitMessage(1);
        inbox.answer = "rolled back";
        slack.says("U2", CHANNEL, ts, "!rollback 3");

        assertThat(slack.awaitWhisper("U2").thread()).isEqualTo(ts);
        assertThat(inbox.awaitTold()).isEqualTo("command slack:" + FakeSlack.TEAM + ":C1:" + ts + " Bob rollback 3");
        assertThat(inbox.messages()).hasSize(1);
    }

    @Test
    void theHomeShowsConversations() {
        inbox.overview = List.of(new Inbox.Overview(
                new Place("slack", FakeSlack.TEAM, "C1", "1.2"), "Fix <the> build", "idle", Instant.EPOCH));
        slack.opensHome("U1");
        assertThat(slack.awaitHome("U1"))
                .contains("Fix &lt;the&gt; build")
                .contains("<#C1>")
                .contains("1970-01-01 00:00 UTC");
    }

    @Test
    void theConnectionIsMadeAnewWhenSlackWantsItAndWhenItIsCut() {
        slack.refreshes();
        slack.awaitConnections(2);
        slack.says("U1", FakeSlack.direct("U1"), "after the refresh");
        inbox.awaitMessage(1);
        // Slack refuses once: the connection is tried again all the same.
        slack.fails("apps.connections.open", "internal_error", 1);
        slack.cuts();
        slack.awaitConnections(3);
        slack.says("U1", FakeSlack.direct("U1"), "after the cut");
        assertThat(inbox.awaitMessage(2).text()).isEqualTo("after the cut");
    }

    @Test
    void slackIsAskedOnceWhoTheBotIsAndWhoAPersonIs() {
        for (int i = 1; i <= 4; i++) {
            slack.says("U1", FakeSlack.direct("U1"), "message " + i);
            inbox.awaitMessage(i);
        }
        assertThat(slack.calls("auth.test")).isEqualTo(1);
        assertThat(slack.calls("users.info")).isEqualTo(1);
    }
}
