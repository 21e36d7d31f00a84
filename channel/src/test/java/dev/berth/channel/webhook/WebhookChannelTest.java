package dev.berth.channel.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.channel.Board;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Files;
import dev.berth.channel.Inbox;
import dev.berth.channel.Incoming;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import dev.berth.channel.webhook.ChatSystem.Trouble;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.io.IOException;
import java.io.InputStream;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Both directions of the webhook channel, with a chat system on loopback and a real database. */
@Timeout(120)
final class WebhookChannelTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Files NO_FILES = file -> {
        throw SandboxException.notFound("there is no " + file.name());
    };
    private static TestingDatabase testing;
    private static Database database;

    /** What was asked for, in words. */
    private final List<String> asked = new ArrayList<>();

    private final List<Incoming> messages = new ArrayList<>();
    /** Of its own for each test, as all of them share a database. */
    private final String workspace = "w" + Long.toHexString(new SecureRandom().nextLong());

    private final Place place = new Place(WebhookChannel.NAME, workspace, "room 1", "");
    private Inbox.Received received = Inbox.Received.BEGUN;
    private ChatSystem chat;
    private WebhookChannel channel;

    @BeforeAll
    static void startDatabase() {
        testing = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(testing.url()));
    }

    @AfterAll
    static void stopDatabase() {
        database.close();
        testing.close();
    }

    @BeforeEach
    void start() {
        chat = new ChatSystem();
        channel = open(false);
    }

    private WebhookChannel open(boolean privateAddresses) {
        return new WebhookChannel(
                Map.of(
                        workspace,
                        new Hook(chat.url("/post"), ChatSystem.SECRET, privateAddresses, Duration.ofSeconds(30))),
                new Asked(),
                database,
                InstantSource.system(),
                new SecureRandom());
    }

    @AfterEach
    void stop() {
        channel.close();
        chat.close();
    }

    private final class Asked implements Inbox {
        @Override
        public Received message(Incoming message) {
            messages.add(message);
            return received;
        }

        @Override
        public boolean knows(Place where) {
            return true;
        }

        @Override
        public boolean stop(Place where, Person person) {
            asked.add("stop " + where.room() + " by " + person.name());
            return true;
        }

        @Override
        public String decide(Place where, String approval, Person person, Answer answer) {
            asked.add(approval + " " + answer + " by " + person.name());
            return "";
        }

        @Override
        public String command(Place where, Person person, String text) {
            asked.add(text + " by " + person.name());
            return "*fine*";
        }

        @Override
        public List<Overview> overview(String name, String where, Person person) {
            return List.of();
        }
    }

    private static String body(String more) {
        return """
                {"id": "m1", "conversation": "room 1", "person": {"id": "u1", "name": "Anna"}, %s}""".formatted(more);
    }

    private WebhookChannel.Reply send(String body) {
        byte[] bytes = body.getBytes(UTF_8);
        return channel.receive(workspace, Signature.of(ChatSystem.SECRET, Instant.now(), bytes), bytes);
    }

    private static JsonNode json(WebhookChannel.Reply reply) {
        return JSON.readTree(reply.body());
    }

    // ---- in ------------------------------------------------------------------------------------------------------

    @Test
    void aSignedMessageIsTakenAndAnsweredAtOnce() {
        WebhookChannel.Reply reply = send(body("\"text\": \"hello\""));
        assertThat(reply.status()).isEqualTo(202);
        assertThat(json(reply).path("received").asString()).isEqualTo("begun");
        assertThat(messages)
                .containsExactly(new Incoming(place, new Person("u1", "Anna"), "m1", "hello", List.of(), "m1"));
    }

    @Test
    void whatIsNotSignedOrLongAgoIsRefused() {
        byte[] bytes = body("\"text\": \"hello\"").getBytes(UTF_8);
        Instant now = Instant.now();
        String good = Signature.of(ChatSystem.SECRET, now, bytes);
        List<String> bad = List.of(
                "",
                "t=,v1=",
                good + "0",
                good.toUpperCase(Locale.ROOT),
                good.replaceFirst("t=\\d+", "t=" + (now.getEpochSecond() + 1)),
                Signature.of("another secret, as long", now, bytes),
                Signature.of(ChatSystem.SECRET, now.minusSeconds(330), bytes),
                Signature.of(ChatSystem.SECRET, now.plusSeconds(330), bytes),
                Signature.of(ChatSystem.SECRET, now, "{}".getBytes(UTF_8)));
        for (String signature : bad) {
            assertThat(channel.receive(workspace, signature, bytes).status())
                    .as(signature)
                    .isEqualTo(401);
        }
        assertThat(channel.receive("elsewhere", good, bytes).status()).isEqualTo(401);
        assertThat(messages).isEmpty();
        assertThat(channel.receive(workspace, good, bytes).status()).isEqualTo(202);
    }

    @Test
    void whatCannotBeUnderstoodSaysWhatIsWrong() {
        Map<String, String> wrong = Map.of(
                "[1",
                "JSON",
                "7",
                "object",
                "{}",
                "id has to be",
                body("\"type\": \"dance\""),
                "type has to be",
                body("\"text\": \"\""),
                "a text or an attachment",
                body("\"text\": \"x\", \"attachments\": [{\"name\": \"a\"}]"),
                "url has to be",
                body("\"type\": \"decision\", \"approval\": \"a\", \"answer\": \"maybe\""),
                "once, always or deny");
        wrong.forEach((body, why) -> {
            WebhookChannel.Reply reply = send(body);
            assertThat(reply.status()).as(body).isEqualTo(400);
            assertThat(json(reply).path("detail").asString()).contains(why);
        });
        assertThat(messages).isEmpty();
        assertThat(asked).isEmpty();
    }

    @Test
    void whatBecameOfAMessageIsInTheStatus() {
        Map<Inbox.Received, Integer> statuses = Map.of(
                Inbox.Received.STEERED, 202,
                Inbox.Received.KNOWN, 200,
                Inbox.Received.NOT_ALLOWED, 403,
                Inbox.Received.TOO_MANY, 429);
        statuses.forEach((outcome, status) -> {
            received = outcome;
            assertThat(send(body("\"text\": \"hello\"")).status())
                    .as(outcome.name())
                    .isEqualTo(status);
        });
    }

    @Test
    void decisionsStopsAndCommandsComeByTheSameDoorAndCountOnce() {
        String decision = body("\"type\": \"decision\", \"approval\": \"a1\", \"answer\": \"always\"");
        assertThat(json(send(decision)).path("decided").asBoolean()).isTrue();
        assertThat(json(send(decision)).path("received").asString()).isEqualTo("known");
        String stop = body("\"type\": \"stop\"").replace("m1", "m2");
        assertThat(json(send(stop)).path("stopped").asBoolean()).isTrue();
        channel.close();
        channel = open(false);
        assertThat(json(send(stop)).path("received").asString()).isEqualTo("known");
        String command = body("\"type\": \"command\", \"text\": \"status\"").replace("m1", "m3");
        assertThat(json(send(command)).path("answer").asString()).isEqualTo("*fine*");
        assertThat(asked).containsExactly("a1 ALWAYS by Anna", "stop room 1 by Anna", "status by Anna");
    }

    // ---- attachments ---------------------------------------------------------------------------------------------

    private Incoming.Attachment attachment(String url) {
        messages.clear();
        send(body("\"text\": \"x\", \"attachments\": [{\"name\": \"a.txt\", \"size\": 5, \"url\": \"" + url + "\"}]"));
        return messages.getFirst().attachments().getFirst();
    }

    @Test
    void anAttachmentIsFetchedWhetherItsLengthIsToldOrNot() throws IOException {
        channel.close();
        channel = open(true);
        for (String path : List.of("/file", "/sized?x=1")) {
            Incoming.Attachment file = attachment(chat.url(path).toString());
            assertThat(file.name()).isEqualTo("a.txt");
            try (InputStream in = file.open()) {
                assertThat(new String(in.readAllBytes(), UTF_8)).isEqualTo("0123456789".repeat(10_000));
            }
        }
    }

    @Test
    void anAttachmentIsNotFetchedFromPrivateAddressesNorByRedirects() {
        List<String> closed = List.of(
                chat.url("/file").toString(),
                "http://localhost:" + chat.url("").getPort() + "/file",
                "http://169.254.169.254/latest/meta-data",
                "http://[::1]/",
                "http://[::ffff:127.0.0.1]/",
                "http://10.0.0.1/");
        for (String url : closed) {
            assertThatThrownBy(() -> attachment(url).open()).as(url).hasMessageContaining("not public");
        }
        for (String url : List.of("file:///etc/passwd", "http://u:p@host.example/", "no url")) {
            assertThatThrownBy(() -> attachment(url).open()).as(url).hasMessageContaining("its url");
        }
        channel.close();
        channel = open(true);
        assertThatThrownBy(() -> attachment(chat.url("/moved").toString()).open())
                .hasMessageContaining("status 302");
    }

    // ---- out -----------------------------------------------------------------------------------------------------

    private static Board board(String text, Optional<Board.End> end) {
        return new Board(
                "r1",
                new Person("u1", "Anna"),
                "Thinking…",
                text,
                List.of(new Board.Step("c", "ls", Board.Step.State.RUNNING, "a b")),
                2,
                List.of(new Board.Card(
                        "a1", "bash", "Remove", "rm -r x", Board.Card.Decision.DENIED, Optional.of("Bert"))),
                List.of(new Board.Shown("art_1", "n.csv", "Numbers", "text/csv", 7)),
                end);
    }

    @Test
    void aBoardIsPostedWholeAndSignedWithANumberThatGrows() throws InterruptedException {
        String memo = channel.show(place, "m1", board("so far", Optional.empty()), NO_FILES, "");
        channel.show(
                place, "m1", board("all", Optional.of(new Board.End(false, Optional.of("Stopped.")))), NO_FILES, memo);
        JsonNode first = chat.posted().get(0);
        JsonNode last = chat.posted().get(1);
        assertThat(first.path("conversation").asString()).isEqualTo("room 1");
        assertThat(first.path("reply").asString()).isEqualTo("m1");
        assertThat(first.path("run").asString()).isEqualTo("r1");
        assertThat(first.path("text").asString()).isEqualTo("so far");
        assertThat(first.path("steps").get(0).path("state").asString()).isEqualTo("running");
        assertThat(first.path("earlier_steps").asInt()).isEqualTo(2);
        assertThat(first.path("cards").get(0).path("decided_by").asString()).isEqualTo("Bert");
        assertThat(first.path("files").get(0).path("artifact").asString()).isEqualTo("art_1");
        assertThat(first.has("end")).isFalse();
        assertThat(last.path("end").path("note").asString()).isEqualTo("Stopped.");
        assertThat(last.path("number").asLong())
                .isGreaterThan(first.path("number").asLong());
    }

    @Test
    void aNoticeIsPosted() throws InterruptedException {
        channel.notice(place, "The job is done.", List.of(), NO_FILES);
        assertThat(chat.posted().getFirst().path("type").asString()).isEqualTo("notice");
        assertThat(chat.posted().getFirst().path("text").asString()).isEqualTo("The job is done.");
    }

    private ChannelException refusal(int status, Map<String, String> headers) {
        chat.answerWith(new Trouble(status, headers));
        try {
            channel.show(place, "m1", board("x", Optional.empty()), NO_FILES, "");
        } catch (ChannelException e) {
            return e;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        throw new AssertionError("status " + status + " was taken for a success");
    }

    @Test
    void itIsTriedAgainWhenTheChatSystemSaysThatMayHelp() {
        assertThat(refusal(503, Map.of()).lasting()).isFalse();
        assertThat(refusal(429, Map.of("Retry-After", "7")).retryAfter()).contains(Duration.ofSeconds(7));
        assertThat(refusal(429, Map.of("Retry-After", "999999")).retryAfter()).contains(Duration.ofMinutes(10));
        assertThat(refusal(500, Map.of("Retry-After", "soon")).retryAfter()).contains(Duration.ZERO);
        assertThat(refusal(410, Map.of()).lasting()).isTrue();
        assertThat(refusal(302, Map.of("Location", "/file")).lasting()).isTrue();
        chat.close();
        assertThatThrownBy(() -> channel.show(place, "m1", board("x", Optional.empty()), NO_FILES, ""))
                .isInstanceOfSatisfying(
                        ChannelException.class, e -> assertThat(e.lasting()).isFalse());
    }

    @Test
    void aHookDoesNotTellItsSecret() {
        assertThat(Hook.of(chat.url("/post"), ChatSystem.SECRET).toString()).doesNotContain(ChatSystem.SECRET);
    }
}
