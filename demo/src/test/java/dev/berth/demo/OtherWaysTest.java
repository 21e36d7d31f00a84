package dev.berth.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.channel.slack.FakeSlack;
import dev.berth.channel.slack.FakeSlack.Attached;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** The ways that are not the usual ones: Slack over HTTP, a model that chats, a chat system of one's own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OtherWaysTest {
    private static final String CHANNEL = "C0WAYS";

    private Stage stage;
    private ChatSystem chat;

    @BeforeAll
    void open() throws Exception {
        TestingTemplates.agent();
        chat = new ChatSystem();
        stage = new Stage(TestMachine.templates());
        stage.set("BERTH_SLACK_MODE", "http")
                .set("BERTH_SLACK_SIGNING_SECRET", FakeSlack.SIGNING_SECRET)
                .set("BERTH_AGENT_RUNTIME", "chat")
                .set("BERTH_AGENT_CHAT_URL", stage.modelUrl().toString())
                .set("BERTH_AGENT_CHAT_MODEL", "scripted")
                .set("BERTH_AGENT_CHAT_KEY", "sk-of-the-chat")
                .set("BERTH_CHANNEL_WEBHOOK_URL", chat.url().toString())
                .set("BERTH_CHANNEL_WEBHOOK_SECRET", ChatSystem.SECRET);
        stage.start();
        stage.keepKey("sk-of-the-agent");
    }

    @AfterAll
    void close() throws Exception {
        stage.close();
        chat.close();
    }

    @Test
    void aModelThatChatsInSlackOverHttpGivesWorkToTheCodingAgent() throws Exception {
        int before = stage.model().heads().size();
        stage.model()
                .calls("sandbox", Map.of("task", "count the words in uploads/words.txt"))
                .calls("bash", Map.of("command", "wc -w < uploads/words.txt"))
                .says("There are 3.")
                .says("Your file has three words.");
        String thread = stage.slack()
                .says(
                        "U1",
                        CHANNEL,
                        "<@" + FakeSlack.BOT + "> how many words?",
                        new Attached("words.txt", "text/plain", "one two three".getBytes(UTF_8)));
        stage.slack()
                .awaitThread(
                        CHANNEL,
                        thread,
                        now -> now.stream().anyMatch(it -> it.bot() && it.text().contains("three words")));
        List<String> heads = stage.model().heads();
        assertThat(heads.subList(before, heads.size()).stream()
                        .map(head -> head.contains("sk-of-the-chat") ? "chat" : "agent"))
                .containsExactly("chat", "agent", "agent", "chat");
        assertThat(stage.model().lastRequest()).contains("There are 3.");
    }

    @Test
    void whatSlackDidNotSignIsRefused() throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(stage.url().resolve("/channels/slack/events"))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString("{\"type\": \"url_verification\", \"challenge\": \"x\"}"))
                    .build();
            assertThat(client.send(request, HttpResponse.BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(401);
        }
    }

    @Test
    void anotherChatSystemIsServedBySignedRequests() throws IOException, InterruptedException {
        URI door = stage.url().resolve("/channels/webhook/main");
        Map<String, Object> message = Map.of(
                "id", "m1", "conversation", "support/42", "person", Map.of("id", "u1", "name", "Ann"), "text", "hello");
        assertThat(chat.says(door, message, "not the secret of both").statusCode())
                .isEqualTo(401);
        assertThat(chat.says(stage.url().resolve("/channels/webhook/other"), message, ChatSystem.SECRET)
                        .statusCode())
                .isEqualTo(401);

        stage.model().says("Hello over there.");
        assertThat(chat.says(door, message, ChatSystem.SECRET).statusCode()).isEqualTo(202);
        JsonNode board = chat.awaitBoard(it -> it.has("end"));
        assertThat(board.path("text").asString()).isEqualTo("Hello over there.");
        assertThat(board.path("conversation").asString()).isEqualTo("support/42");
        assertThat(chat.says(door, message, ChatSystem.SECRET).body()).contains("known");
    }
}
