package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.slack.api.bolt.request.Request;
import com.slack.api.bolt.request.RequestHeaders;
import com.slack.api.bolt.response.Response;
import com.slack.api.bolt.util.SlackRequestParser;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Slack and browsers call: {@code events} for everything that Slack sends, {@code install} and {@code callback} for
 * whoever installs the app in a workspace.
 */
public final class SlackHttp {
    private static final Logger LOG = LoggerFactory.getLogger(SlackHttp.class);
    private static final Duration OLDEST = Duration.ofMinutes(5);

    /** What to answer. */
    public record Answer(int status, Map<String, String> headers, String body) {
        static Answer json(int status, String body) {
            return new Answer(status, Map.of("Content-Type", "application/json; charset=utf-8"), body);
        }

        static Answer page(int status, String title, String text) {
            return new Answer(
                    status,
                    Map.of(
                            "Content-Type", "text/html; charset=utf-8",
                            "Content-Security-Policy", "default-src 'none'",
                            "Cache-Control", "no-store"),
                    "<!doctype html><meta charset=\"utf-8\"><title>" + Mrkdwn.escape(title) + "</title><h1>"
                            + Mrkdwn.escape(title) + "</h1><p>" + Mrkdwn.escape(text) + "</p>\n");
        }
    }

    private final Optional<String> signingSecret;
    private final Intake intake;
    private final Optional<Install> install;
    private final InstantSource clock;
    private final SlackRequestParser parser;

    SlackHttp(Optional<String> signingSecret, Intake intake, Optional<Install> install, InstantSource clock) {
        this.signingSecret = signingSecret;
        this.intake = intake;
        this.install = install;
        this.clock = clock;
        this.parser = new SlackRequestParser(intake.appConfig());
    }

    /**
     * Answers a request.
     *
     * @param page what is called: {@code events}, {@code install} or {@code callback}
     * @param headers by names in any case
     * @param body exactly as it came, since it is signed
     */
    public Answer handle(
            String method, String page, Map<String, String> query, Map<String, List<String>> headers, byte[] body)
            throws InterruptedException {
        Map<String, List<String>> byName = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        byName.putAll(headers);
        return switch (method + " " + page) {
            case "POST events" -> signingSecret.isPresent() ? events(signingSecret.get(), byName, body) : missing();
            case "GET install" -> install.map(Install::begin).orElseGet(SlackHttp::missing);
            case "GET callback" -> install.isPresent() ? install.get().end(query, first(byName, "Cookie")) : missing();
            default -> missing();
        };
    }

    private static Answer missing() {
        return Answer.json(404, "{\"error\":\"there is nothing here; see docs/slack.md\"}");
    }

    private Answer events(String secret, Map<String, List<String>> headers, byte[] body) {
        // Before anything reads it: whatever is not from Slack is not looked at.
        if (!signed(secret, first(headers, "X-Slack-Request-Timestamp"), first(headers, "X-Slack-Signature"), body)) {
            return Answer.json(401, "{\"error\":\"the signature is not Slack's, or too old\"}");
        }
        try {
            Request<?> request = parser.parse(SlackRequestParser.HttpRequest.builder()
                    .requestUri("")
                    .remoteAddress("")
                    .queryString(Map.of())
                    .headers(new RequestHeaders(headers))
                    .requestBody(new String(body, UTF_8))
                    .build());
            if (request == null) {
                return Answer.json(400, "{\"error\":\"this is no request of Slack\"}");
            }
            Response response = intake.run(request);
            return new Answer(
                    response.getStatusCode(),
                    Map.of(
                            "Content-Type",
                            Optional.ofNullable(response.getContentType()).orElse("text/plain")),
                    Optional.ofNullable(response.getBody()).orElse(""));
        } catch (Exception e) {
            LOG.warn("a request of Slack was not taken", e);
            return Answer.json(500, "{\"error\":\"something went wrong here\"}");
        }
    }

    private boolean signed(String secret, String timestamp, String signature, byte[] body) {
        long seconds;
        try {
            seconds = Long.parseLong(timestamp);
        } catch (NumberFormatException e) {
            return false;
        }
        if (Math.abs(clock.millis() / 1000 - seconds) > OLDEST.toSeconds()) {
            return false;
        }
        String expected = "v0=" + HexFormat.of().formatHex(hash(secret, timestamp, body));
        return MessageDigest.isEqual(expected.getBytes(UTF_8), signature.getBytes(UTF_8));
    }

    private static byte[] hash(String secret, String timestamp, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
            mac.update(("v0:" + timestamp + ":").getBytes(UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    private static String first(Map<String, List<String>> headers, String name) {
        List<String> values = headers.getOrDefault(name, List.of());
        return values.isEmpty() ? "" : values.getFirst();
    }
}
