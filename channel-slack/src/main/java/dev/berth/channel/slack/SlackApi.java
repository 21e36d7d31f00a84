package dev.berth.channel.slack;

import com.slack.api.Slack;
import dev.berth.channel.ChannelException;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import okhttp3.FormBody;
import okhttp3.Response;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Calls Slack's methods, as often as Slack lets it. */
final class SlackApi implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SlackApi.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int TRIES = 5;
    /** Longer than that, the caller had better come again with something newer. */
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Whoever was refused for asking too often: which method, in which workspace. */
    private record Gate(String team, String method) {}

    private final Slack slack;
    private final URI base;
    private final InstantSource clock;
    private final Map<Gate, Instant> closed = new ConcurrentHashMap<>();

    SlackApi(URI base, InstantSource clock) {
        this.base = base;
        this.clock = clock;
        com.slack.api.SlackConfig config = new com.slack.api.SlackConfig();
        config.setMethodsEndpointUrlPrefix(base.toString());
        config.setHttpClientCallTimeoutMillis(30_000);
        // These would write what Slack answers to the log, and with OAuth that is a token.
        config.getHttpClientResponseHandlers().clear();
        // Otherwise it calls auth.test to count by workspace.
        config.setStatsEnabled(false);
        if (local(base)) {
            config.setProxyUrl(null);
        }
        this.slack = Slack.getInstance(config);
    }

    private static boolean local(URI base) {
        return "127.0.0.1".equals(base.getHost()) || "localhost".equals(base.getHost());
    }

    Slack slack() {
        return slack;
    }

    URI base() {
        return base;
    }

    /**
     * What Slack answered.
     *
     * @param error empty if it did what it was asked for
     */
    record Answer(JsonNode body, String error) {
        boolean ok() {
            return error.isEmpty();
        }
    }

    /** Calls a method that has to work. */
    JsonNode need(Workspace workspace, String method, Map<String, String> arguments) throws InterruptedException {
        Answer answer = call(workspace, method, arguments);
        if (!answer.ok()) {
            throw failure(method, answer.error());
        }
        return answer.body();
    }

    static ChannelException failure(String method, String error) {
        return new ChannelException(
                "Slack refused " + method + ": " + SlackErrors.explain(error), SlackErrors.lasting(error));
    }

    Answer call(Workspace workspace, String method, Map<String, String> arguments) throws InterruptedException {
        return call(workspace.team(), "Bearer " + workspace.token(), method, arguments);
    }

    Answer call(String team, String authorization, String method, Map<String, String> arguments)
            throws InterruptedException {
        FormBody.Builder form = new FormBody.Builder();
        arguments.forEach(form::add);
        FormBody body = form.build();
        Gate gate = new Gate(team, method);
        for (int left = TRIES; ; left--) {
            await(gate);
            try (Response response =
                    slack.getHttpClient().postFormWithAuthorizationHeader(base + method, authorization, body)) {
                if (response.code() == 429) {
                    Duration pause = pause(response);
                    closed.merge(gate, clock.instant().plus(pause), (a, b) -> a.isAfter(b) ? a : b);
                    if (left > 1 && pause.compareTo(PATIENCE) <= 0) {
                        LOG.info("Slack wants {} to wait {} s in {}", method, pause.toSeconds(), team);
                        continue;
                    }
                    throw new ChannelException(
                            "Slack wants " + method + " to wait " + pause.toSeconds() + " s; try again then", false);
                }
                if (!response.isSuccessful()) {
                    throw new ChannelException(
                            "Slack answered " + method + " with status " + response.code() + "; try again later",
                            false);
                }
                JsonNode answer =
                        JSON.readTree(Objects.requireNonNull(response.body()).string());
                return new Answer(
                        answer,
                        answer.path("ok").asBoolean(false)
                                ? ""
                                : answer.path("error").asString("unknown_error"));
            } catch (IOException e) {
                throw new ChannelException("Slack cannot be reached for " + method + "; try again later", e);
            } catch (JacksonException e) {
                throw new ChannelException("Slack answered " + method + " with something else than JSON", e);
            }
        }
    }

    private static Duration pause(Response response) {
        String seconds = Optional.ofNullable(response.header("Retry-After")).orElse("1");
        try {
            return Duration.ofSeconds(Math.max(1, Long.parseLong(seconds.strip())));
        } catch (NumberFormatException e) {
            return Duration.ofSeconds(1);
        }
    }

    private void await(Gate gate) throws InterruptedException {
        Instant until = closed.get(gate);
        while (until != null) {
            Duration left = Duration.between(clock.instant(), until);
            if (left.isNegative() || left.isZero()) {
                closed.remove(gate, until);
            } else {
                Thread.sleep(left);
            }
            until = closed.get(gate);
        }
    }

    @Override
    public void close() {
        try {
            slack.close();
        } catch (Exception e) {
            LOG.warn("could not close the connections to Slack", e);
        }
    }
}
