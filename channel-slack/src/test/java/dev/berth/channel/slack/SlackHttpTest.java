package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.channel.Inbox;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Events over HTTP. */
final class SlackHttpTest {
    private static final String VERIFICATION = "{\"type\":\"url_verification\",\"challenge\":\"c4\",\"token\":\"t\"}";

    private final FakeSlack slack = new FakeSlack();
    private final ScriptedInbox inbox = new ScriptedInbox(slack);
    private final SlackChannel channel = new SlackChannel(slack.httpConfig(), Optional.empty());
    private SlackHttp http;

    @BeforeEach
    void listen() {
        channel.listen(inbox);
        http = channel.http();
        slack.sendTo((headers, body) -> post(headers, new String(body, UTF_8)).status());
    }

    @AfterEach
    void close() {
        channel.close();
        slack.close();
    }

    private SlackHttp.Answer post(Map<String, List<String>> headers, String body) {
        try {
            return http.handle("POST", "events", Map.of(), headers, body.getBytes(UTF_8));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static String now() {
        return Long.toString(System.currentTimeMillis() / 1000);
    }

    @Test
    void theAddressIsVerified() {
        SlackHttp.Answer answer = post(FakeSlack.signed(VERIFICATION, now(), FakeSlack.SIGNING_SECRET), VERIFICATION);
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.body()).contains("c4");
    }

    @Test
    void whatIsNotSignedBySlackIsRefused() {
        String body = "{\"type\":\"event_callback\",\"team_id\":\"" + FakeSlack.TEAM
                + "\",\"event\":{\"type\":\"message\",\"channel\":\"DU1\",\"user\":\"U1\",\"text\":\"x\",\"ts\":\"1.1\"}}";
        String old = Long.toString(System.currentTimeMillis() / 1000 - 600);
        assertThat(post(FakeSlack.signed(body, now(), "another secret"), body).status())
                .isEqualTo(401);
        assertThat(post(FakeSlack.signed(body + " ", now(), FakeSlack.SIGNING_SECRET), body)
                        .status())
                .isEqualTo(401);
        assertThat(post(FakeSlack.signed(body, old, FakeSlack.SIGNING_SECRET), body)
                        .status())
                .isEqualTo(401);
        assertThat(post(Map.of(), body).status()).isEqualTo(401);
        assertThat(post(Map.of("X-Slack-Request-Timestamp", List.of("soon")), body)
                        .status())
                .isEqualTo(401);
        assertThat(inbox.messages()).isEmpty();

        assertThat(post(FakeSlack.signed(body, now(), FakeSlack.SIGNING_SECRET), body)
                        .status())
                .isEqualTo(200);
        inbox.awaitMessage(1);
    }

    @Test
    void whatIsSignedAndMakesNoSenseDoesNoHarm() {
        for (String body :
                List.of("", "{", "{}", "[]", "payload=%7B", "{\"type\":\"event_callback\"}", "{\"type\":\"new\"}")) {
            assertThat(post(FakeSlack.signed(body, now(), FakeSlack.SIGNING_SECRET), body)
                            .status())
                    .as(body)
                    .isGreaterThanOrEqualTo(400);
        }
        slack.says("U1", FakeSlack.direct("U1"), "still there");
        assertThat(inbox.awaitMessage(1).text()).isEqualTo("still there");
    }

    @Test
    void messagesAndCommandsComeIn() {
        String ts = slack.says("U1", "C1", "<@" + FakeSlack.BOT + "> hello");
        assertThat(inbox.awaitMessage(1).place().thread()).isEqualTo(ts);
        slack.repeats();
        inbox.answer = "fine";
        slack.commands("U2", "C1", "/berth", "status");
        assertThat(slack.awaitWhisper("U2").text()).isEqualTo("fine");
        assertThat(inbox.messages()).hasSize(1);
    }

    @Test
    void moreThanItCanHoldHasToComeAgain() throws Exception {
        CountDownLatch room = new CountDownLatch(1);
        inbox.receive = _ -> {
            try {
                room.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return Inbox.Received.BEGUN;
        };
        List<Future<Integer>> all;
        try (ExecutorService people = Executors.newVirtualThreadPerTaskExecutor()) {
            all = people.invokeAll(IntStream.range(0, 300)
                    .<Callable<Integer>>mapToObj(number -> () -> message(number))
                    .toList());
        }
        assertThat(all.stream().map(Future::resultNow)).containsOnly(200, 503);
        int taken = Math.toIntExact(all.stream()
                .map(Future::resultNow)
                .filter(status -> status == 200)
                .count());
        assertThat(taken).isBetween(200, 256);
        room.countDown();
        inbox.awaitMessage(taken);
        slack.says("U1", FakeSlack.direct("U1"), "room again");
        assertThat(inbox.awaitMessage(taken + 1).text()).isEqualTo("room again");
    }

    private int message(int number) {
        String body = "{\"type\":\"event_callback\",\"team_id\":\"" + FakeSlack.TEAM
                + "\",\"event\":{\"type\":\"message\",\"channel\":\"DU1\",\"user\":\"U1\",\"text\":\"x\",\"ts\":\"1."
                + number + "\"}}";
        return post(FakeSlack.signed(body, now(), FakeSlack.SIGNING_SECRET), body)
                .status();
    }

    @Test
    void thereAreNoOtherPagesWithoutOAuth() throws InterruptedException {
        for (String page : List.of("install", "callback", "events", "")) {
            assertThat(http.handle("GET", page, Map.of(), Map.of(), new byte[0]).status())
                    .isEqualTo(404);
        }
    }
}
