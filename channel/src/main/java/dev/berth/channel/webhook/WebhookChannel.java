package dev.berth.channel.webhook;

import dev.berth.channel.Board;
import dev.berth.channel.Channel;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Files;
import dev.berth.channel.Inbox;
import dev.berth.channel.Place;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Chat systems that are attached by HTTP, each as a workspace of its own. They post what people say and do to
 * {@link #receive}, and are posted boards: each whole, with a number that grows, so that one who gets them in another order
 * keeps the highest.
 */
public final class WebhookChannel implements Channel {
    public static final String NAME = "webhook";

    private static final Logger LOG = LoggerFactory.getLogger(WebhookChannel.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST_BYTES = 2 << 20;
    private static final Duration CONNECT = Duration.ofSeconds(10);
    private static final Duration LONGEST_WAIT = Duration.ofMinutes(10);
    private static final int REQUEST_TIMEOUT = 408;
    private static final int TOO_EARLY = 425;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVER_ERRORS = 500;

    private final Map<String, Hook> hooks;
    private final Inbox inbox;
    private final Requests requests;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final HttpClient client = HttpClient.newBuilder()
            .connectTimeout(CONNECT)
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();

    /**
     * What is answered to a request.
     *
     * @param body JSON
     */
    public record Reply(int status, String body) {}

    /** @param hooks by the names of their workspaces */
    public WebhookChannel(
            Map<String, Hook> hooks, Inbox inbox, Database database, InstantSource clock, RandomGenerator random) {
        this.hooks = Map.copyOf(hooks);
        this.inbox = inbox;
        this.requests = new Requests(database);
        this.clock = clock;
        this.random = random;
    }

    @Override
    public String name() {
        return NAME;
    }

    // ---- in ------------------------------------------------------------------------------------------------------

    /**
     * Does what a chat system asks for.
     *
     * @param workspace whose door it came through
     * @param signature the header {@link Signature#HEADER}, as it came; empty if there was none
     * @param body as it came: the signature is over these bytes
     */
    public Reply receive(String workspace, String signature, byte[] body) {
        Hook hook = hooks.get(workspace);
        // The same answer for a door that is not there: it is nobody's business which are.
        if (hook == null || !Signature.good(hook.secret(), clock.instant(), signature, body)) {
            return problem(
                    401,
                    "the signature is not good; sign the time in seconds, a dot and the body with the secret,"
                            + " and check the clock");
        }
        if (body.length > MOST_BYTES) {
            return problem(413, "a request has " + MOST_BYTES + " bytes at most; send longer texts as attachments");
        }
        try {
            Request request = Request.parse(body);
            return act(request, new Place(NAME, workspace, request.conversation(), ""), hook);
        } catch (Request.Unclear e) {
            return problem(400, String.valueOf(e.getMessage()));
        } catch (SandboxException e) {
            LOG.atWarn().addKeyValue("workspace", workspace).setCause(e).log("channel.webhook.failed");
            return problem(503, "this cannot be taken right now; send it again with the same id in a moment");
        }
    }

    private Reply act(Request request, Place place, Hook hook) throws Request.Unclear {
        if (request.kind() == Request.Kind.MESSAGE) {
            return received(inbox.message(request.message(place, hook.privateAddresses())));
        }
        // Read before the id is used up, so that what was mended can be sent again.
        Optional<Inbox.Answer> answer =
                request.kind() == Request.Kind.DECISION ? Optional.of(request.answer()) : Optional.empty();
        String approval = answer.isPresent() ? request.approval() : "";
        if (!requests.first(NAME, place.workspace(), request.id())) {
            return reply(200, Map.of("received", "known"));
        }
        if (answer.isPresent()) {
            String why = inbox.decide(place, approval, request.person(), answer.get());
            return reply(200, Map.of("decided", why.isEmpty(), "message", why));
        }
        return request.kind() == Request.Kind.STOP
                ? reply(200, Map.of("stopped", inbox.stop(place, request.person())))
                : reply(200, Map.of("answer", inbox.command(place, request.person(), request.text())));
    }

    private static Reply received(Inbox.Received received) {
        return switch (received) {
            case BEGUN, STEERED -> reply(202, Map.of("received", received.name().toLowerCase(Locale.ROOT)));
            case KNOWN -> reply(200, Map.of("received", "known"));
            case NOT_ALLOWED -> problem(403, "this person, or this conversation, may not; ask the operator");
            case TOO_MANY -> problem(429, "this person asks too much at a time; try again in a minute");
        };
    }

    private static Reply problem(int status, String detail) {
        return reply(status, Map.of("detail", detail));
    }

    private static Reply reply(int status, Map<String, Object> body) {
        return new Reply(status, JSON.writeValueAsString(body));
    }

    // ---- out -----------------------------------------------------------------------------------------------------

    @Override
    public String show(Place place, String reply, Board board, Files files, String memo) throws InterruptedException {
        // By the clock, so that it grows also if what was sent last could not be written down.
        long last = memo.matches("[0-9]{1,18}") ? Long.parseLong(memo) : 0;
        long number = Math.max(last + 1, clock.millis());
        post(place, Posted.board(place, reply, board, number));
        return Long.toString(number);
    }

    @Override
    public void notice(Place place, String text, List<Board.Shown> shown, Files files) throws InterruptedException {
        post(place, Posted.notice(place, text, shown, "notice-" + Long.toHexString(random.nextLong())));
    }

    private void post(Place place, Map<String, Object> content) throws InterruptedException {
        Hook hook = hooks.get(place.workspace());
        if (hook == null) {
            throw new ChannelException("there is no webhook channel " + place.workspace() + " any more", true);
        }
        byte[] body = JSON.writeValueAsBytes(content);
        HttpRequest request = HttpRequest.newBuilder(hook.url())
                .timeout(hook.timeout())
                .header("Content-Type", "application/json")
                .header("User-Agent", "Berth")
                .header(Signature.HEADER, Signature.of(hook.secret(), clock.instant(), body))
                .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                .build();
        HttpResponse<Void> answer;
        try {
            answer = client.send(request, HttpResponse.BodyHandlers.discarding());
        } catch (IOException e) {
            throw new ChannelException("the chat system cannot be reached: " + e.getMessage(), e);
        }
        check(answer);
    }

    private void check(HttpResponse<Void> answer) {
        int status = answer.statusCode();
        if (status >= 200 && status < 300) {
            return;
        }
        String what = "the chat system answered with status " + status;
        boolean passing = status >= SERVER_ERRORS
                || status == TOO_MANY_REQUESTS
                || status == REQUEST_TIMEOUT
                || status == TOO_EARLY;
        if (!passing) {
            throw new ChannelException(what, true);
        }
        throw new ChannelException(
                what, answer.headers().firstValue("Retry-After").map(this::wait).orElse(Duration.ZERO));
    }

    /** Seconds, or a date, see RFC 9110 section 10.2.3. */
    private Duration wait(String header) {
        Duration wait = Duration.ZERO;
        if (header.matches("[0-9]{1,9}")) {
            wait = Duration.ofSeconds(Long.parseLong(header));
        } else {
            try {
                Instant at = Instant.from(DateTimeFormatter.RFC_1123_DATE_TIME.parse(header));
                wait = Duration.between(clock.instant(), at);
            } catch (DateTimeException e) {
                LOG.atDebug().addKeyValue("header", header).log("channel.webhook.retry-after-unclear");
            }
        }
        return wait.isNegative() ? Duration.ZERO : wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
