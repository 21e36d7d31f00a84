package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.agent.ScriptedModel;
import dev.berth.agent.ScriptedModelServer;
import dev.berth.agent.chat.ModelConfig.Patience;
import dev.berth.agent.chat.ModelException.Kind;
import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;

/** What is asked of a model, and what becomes of all that its server may answer. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ModelClientTest {
    private static final String KEY = "sk-very-secret-0123456789";
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Patience PATIENT = new Patience(LONG, LONG, LONG, Duration.ofMillis(5));
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final ScriptedModelServer server = new ScriptedModelServer();
    private final ScriptedModel model = server.model();
    private final Told told = new Told();
    private final Stop stop = new Stop();

    @AfterEach
    void close() {
        server.close();
    }

    /** What was told, in its order. */
    private static final class Told implements ModelClient.Telling {
        private final List<String> all = new CopyOnWriteArrayList<>();
        private final CountDownLatch spoken = new CountDownLatch(1);

        @Override
        public void text(String piece) {
            all.add("text " + piece);
            spoken.countDown();
        }

        @Override
        public void thought(String piece) {
            all.add("thought " + piece);
        }

        @Override
        public void used(long inputTokens, long outputTokens, double cost) {
            all.add("used " + inputTokens + " " + outputTokens);
        }

        @Override
        public void status(String text) {
            all.add("status " + text);
        }

        @Override
        public void again() {
            all.add("again");
        }
    }

    private Answer ask() throws Exception {
        return ask(server.url(), Optional.of(KEY), PATIENT);
    }

    private Answer ask(URI url, Optional<String> key, Patience patience) throws Exception {
        ArrayNode messages = JSON.createArrayNode();
        messages.addObject().put("role", "user").put("content", "hello");
        try (ModelClient client = new ModelClient(new ModelConfig(url, "scripted", () -> key, patience))) {
            return client.ask(messages, Tools.all(), told, stop);
        }
    }

    private ModelException failure() {
        return catchThrowableOfType(ModelException.class, this::ask);
    }

    private static String event(String choice) {
        return "data: {\"choices\":[" + choice + "]}\n\n";
    }

    @Test
    void anAnswerIsPassedOnInPiecesAndItsCostAtTheEnd() throws Exception {
        model.says("Good ", "morning");
        assertThat(ask()).isEqualTo(new Answer("Good morning", List.of(), false));
        assertThat(told.all).containsExactly("text Good ", "text morning", "used 11 7");
        assertThat(model.requests().getFirst().path("stream").asBoolean()).isTrue();
        assertThat(model.requests().getFirst().path("model").asString()).isEqualTo("scripted");
        assertThat(model.heads().getFirst())
                .startsWith("POST /v1/chat/completions ")
                .contains("Authorization: Bearer " + KEY);
    }

    @Test
    void aModelWithoutKeyIsAskedWithoutOne() throws Exception {
        model.says("hello");
        ask(server.url(), Optional.empty(), PATIENT);
        assertThat(model.heads().getFirst()).doesNotContainIgnoringCase("authorization");
    }

    @Test
    void usesOfToolsArePutTogetherFromTheirPieces() throws Exception {
        model.answers(
                200,
                "text/event-stream",
                "",
                ": a comment\r\n\r\n"
                        + event("{\"delta\":{\"reasoning_content\":\"hm\"}}").replace("\n", "\r\n")
                        + event(
                                "{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"sandbox\","
                                        + "\"arguments\":\"{\\\"ta\"}}]}}")
                        + event(
                                "{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"show_file\","
                                        + "\"arguments\":\"{}\"}}]}}")
                        + event(
                                "{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"sk\\\":1}\"}}]}}")
                        + event("{\"delta\":{},\"finish_reason\":\"tool_calls\"}")
                        + "data: [DONE]");
        Answer answer = ask();
        assertThat(told.all).containsExactly("thought hm");
        assertThat(answer.calls()).extracting(Call::tool).containsExactly("sandbox", "show_file");
        assertThat(answer.calls().getFirst()).isEqualTo(new Call("a", "sandbox", "{\"task\":1}"));
        assertThat(answer.calls().getLast().id()).isNotEqualTo("a").isNotEmpty();
    }

    @Test
    void usesOfToolsWithoutIndexAreToldApartByTheirIds() throws Exception {
        model.answers(
                200,
                "text/event-stream",
                "",
                event("{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}},"
                                + "{\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":{\"task\":\"t\"}}}]}}")
                        + event("{\"delta\":{},\"finish_reason\":\"stop\"}"));
        assertThat(ask().calls()).containsExactly(new Call("a", "x", "{}"), new Call("b", "y", "{\"task\":\"t\"}"));
    }

    @Test
    void whatMayPassIsTriedAgainAndSaid() throws Exception {
        model.answers(429, "application/json", "Retry-After: 0\r\n", "{\"error\":{\"message\":\"slow down\"}}");
        model.fails(503, "overloaded");
        model.breaksOffAfter("Hel");
        model.says("Hello");
        assertThat(ask().text()).isEqualTo("Hello");
        assertThat(told.all).hasSize(9);
        assertThat(told.all.get(0)).startsWith("status Trying again (1 of 3)").contains("slow down");
        assertThat(told.all.get(2)).startsWith("status Trying again (2 of 3)").contains("overloaded");
        assertThat(told.all.subList(4, 9))
                .containsExactly("text Hel", told.all.get(5), "again", "text Hello", "used 11 7");
        assertThat(told.all.get(5)).contains("was cut");
    }

    @Test
    void itIsGivenUpAfterThreeMoreAttempts() {
        for (int i = 0; i < 5; i++) {
            model.fails(500, "out of order");
        }
        assertThat(failure()).hasMessageContaining("status 500").hasMessageContaining("out of order");
        assertThat(model.requests()).hasSize(4);
    }

    @Test
    void aModelThatWantsToBeLeftAloneForLongIsNotWaitedFor() {
        model.answers(429, "application/json", "Retry-After: 3600\r\n", "{}");
        assertThat(failure()).hasMessageContaining("too much to do");
        assertThat(model.requests()).hasSize(1);
    }

    @Test
    void anErrorInTheMiddleOfAnAnswerIsTriedAgainIfItMayPass() throws Exception {
        model.answers(200, "text/event-stream", "", "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n");
        model.says("fine");
        assertThat(ask().text()).isEqualTo("fine");
    }

    @ParameterizedTest
    @CsvSource({
        "401, LASTING, check the key",
        "402, LASTING, no credit",
        "404, LASTING, no model 'scripted'",
        "400, REFUSED, refused the request",
        "413, TOO_LONG, refused the request",
        "302, LASTING, check the model's url"
    })
    void aRefusalIsSaidInPlainWordsAndNotTriedAgain(int status, Kind kind, String words) {
        model.answers(
                status, "application/json", "Location: http://127.0.0.1:1/\r\n", "{\"error\":{\"message\":\"no\"}}");
        ModelException failure = failure();
        assertThat(failure).hasMessageContaining(words);
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(model.requests()).hasSize(1);
    }

    @Test
    void aConversationThatIsTooLongIsTold() {
        model.fails(400, "This model's maximum context length is 4096 tokens");
        assertThat(failure().kind()).isEqualTo(Kind.TOO_LONG);
    }

    @Test
    void noErrorShowsTheKeyEvenIfTheServerDoes() {
        model.fails(401, "x".repeat(280) + " the key " + KEY + " is unknown");
        assertThat(failure()).hasMessageNotContaining("sk-very").hasMessageContaining("***");
        model.answers(
                200, "text/event-stream", "", "data: {\"error\":{\"message\":\"" + "y".repeat(560) + KEY + "\"}}\n\n");
        assertThat(failure()).hasMessageNotContaining("sk-");
    }

    @Test
    void aKeyThatNoHeaderCanHaveIsNotShownEither() {
        assertThatThrownBy(() -> ask(server.url(), Optional.of("sk-one\nsk-two"), PATIENT))
                .hasMessageContaining("line break")
                .hasMessageNotContaining("sk-one")
                .hasNoCause();
    }

    @Test
    void aUrlWithAPasswordIsRefusedAndNotRepeated() {
        assertThatThrownBy(() -> new ModelConfig(
                        URI.create("http://user:secret@host/v1"), "m", Optional::empty, Patience.DEFAULT))
                .isInstanceOf(SandboxException.class)
                .hasMessageNotContaining("secret");
    }

    @ParameterizedTest
    @CsvSource({
        "text/html, <html>sign in</html>, in place of a stream",
        "application/json, '{\"choices\":[]}', in place of a stream",
        "application/json, '{\"error\":{\"message\":\"not today\"}}', not today",
        "text/event-stream, <html>sign in</html>, no stream",
        "text/event-stream, 'data: 17\n\n', no answer",
        "text/event-stream, 'data: {\"choices\":[{]]\n\n', no answer"
    })
    void whatIsNoStreamOfAnswersIsSaidToBeNone(String type, String body, String words) {
        model.answers(200, type, "", body);
        assertThat(failure()).hasMessageContaining(words);
        assertThat(model.requests()).hasSize(1);
    }

    @Test
    void anEndlessLineIsNotRead() {
        model.then(output -> {
            output.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ".getBytes(UTF_8));
            byte[] more = new byte[64 << 10];
            for (int i = 0; i < 1024; i++) {
                output.write(more);
            }
        });
        assertThat(failure()).hasMessageContaining("a line of more than");
    }

    @Test
    void tooManyUsesOfToolsAtATimeAreRefused() {
        model.answers(
                200,
                "text/event-stream",
                "",
                event(
                        "{\"delta\":{\"tool_calls\":[{\"index\":2000000000,\"id\":\"a\",\"function\":{\"name\":\"x\"}}]}}"));
        assertThat(failure()).hasMessageContaining("more than 16 tools");
    }

    @Test
    void aModelThatDoesNotBeginIsNotWaitedForForEver() {
        CountDownLatch over = new CountDownLatch(1);
        model.then(_ -> awaitQuietly(over));
        assertThatThrownBy(() -> ask(server.url(), Optional.empty(), new Patience(SHORT, LONG, LONG, SHORT)))
                .hasMessageContaining("did not begin to answer");
        over.countDown();
    }

    @Test
    void aModelThatFallsSilentIsNotWaitedForForEver() {
        CountDownLatch over = new CountDownLatch(1);
        model.pauses("one", over, "two");
        assertThatThrownBy(() -> ask(server.url(), Optional.empty(), new Patience(LONG, SHORT, LONG, SHORT)))
                .hasMessageContaining("fell silent");
        over.countDown();
    }

    @Test
    void aModelThatOnlyEverSaysThatItIsThereIsNotWaitedForForEver() {
        model.then(output -> {
            output.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".getBytes(UTF_8));
            for (int i = 0; i < 3000; i++) {
                output.write(": still here\n\n".getBytes(UTF_8));
                output.flush();
                awaitQuietly(new CountDownLatch(1), 20);
            }
        });
        assertThatThrownBy(() -> ask(server.url(), Optional.empty(), new Patience(LONG, LONG, SHORT, SHORT)))
                .hasMessageContaining("took more than");
    }

    @Test
    void itStopsInTheMiddleOfAnAnswerWhenToldTo() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        model.pauses("one", over, "two");
        CountDownLatch stopped = new CountDownLatch(1);
        Thread asking = Thread.ofVirtual().start(() -> {
            try {
                ask();
            } catch (Stop.Stopped e) {
                stopped.countDown();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        assertThat(told.spoken.await(60, TimeUnit.SECONDS)).isTrue();
        stop.ask(Stop.Kind.ABORT);
        assertThat(stopped.await(60, TimeUnit.SECONDS)).isTrue();
        asking.join();
        over.countDown();
    }

    @Test
    void aServerThatDoesNotKnowAboutUsageIsAskedWithout() throws Exception {
        model.fails(400, "unknown field: stream_options");
        model.says("fine");
        assertThat(ask().text()).isEqualTo("fine");
        assertThat(model.requests().getFirst().has("stream_options")).isTrue();
        assertThat(model.requests().getLast().has("stream_options")).isFalse();
    }

    @Test
    void aServerThatIsNotThereIsNamed() {
        URI gone;
        try (ScriptedModelServer other = new ScriptedModelServer()) {
            gone = other.url();
        }
        assertThatThrownBy(() -> ask(gone, Optional.of(KEY), PATIENT))
                .hasMessageContaining(gone.toString())
                .hasMessageContaining("could not be reached");
        assertThat(told.all).hasSize(6);
    }

    @Test
    void halfOfASurrogatePairDoesNoHarm() throws Exception {
        model.says("fine");
        ArrayNode messages = JSON.createArrayNode();
        messages.addObject().put("role", "user").put("content", "half \ud83d and \u0000");
        try (ModelClient client =
                new ModelClient(new ModelConfig(server.url(), "scripted", Optional::empty, PATIENT))) {
            assertThat(client.ask(messages, Tools.all(), told, stop).text()).isEqualTo("fine");
        }
        assertThat(model.requests()
                        .getFirst()
                        .path("messages")
                        .path(0)
                        .path("content")
                        .asString())
                .isEqualTo("half ? and \u0000");
    }

    @Test
    void theToolsAreDescribed() throws Exception {
        model.calls("sandbox", Map.of("task", "t"));
        assertThat(ask().calls()).hasSize(1);
        assertThat(model.requests().getFirst().path("tools").findValuesAsString("name"))
                .containsExactly("sandbox", "show_file");
    }

    private static void awaitQuietly(CountDownLatch latch) {
        awaitQuietly(latch, 60_000);
    }

    private static void awaitQuietly(CountDownLatch latch, long millis) {
        try {
            boolean _ = latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
