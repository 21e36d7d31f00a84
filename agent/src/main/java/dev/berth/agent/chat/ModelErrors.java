package dev.berth.agent.chat;

import dev.berth.agent.chat.ModelException.Kind;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What goes wrong with a model's server, in words for people. */
final class ModelErrors {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 300;
    /** Servers have no common code for it. */
    private static final Pattern TOO_LONG = Pattern.compile(
            "context.{0,20}(length|window|size)|maximum.{0,20}(context|tokens)|too (long|many tokens)",
            Pattern.CASE_INSENSITIVE);

    private ModelErrors() {}

    /** @param body its beginning, in which every key was covered */
    static ModelException of(int status, String body, Optional<String> retryAfter, String model, String url) {
        String said = said(body);
        String because = said.isEmpty() ? "" : ": " + said;
        return switch (status) {
            case 401, 403 ->
                new ModelException(
                        Kind.LASTING,
                        "the model's server did not accept the key (status " + status
                                + "); check the key in this server's configuration" + because);
            case 402 ->
                new ModelException(
                        Kind.LASTING, "the account at the model's provider has no credit left (status 402)" + because);
            case 404 ->
                new ModelException(
                        Kind.LASTING,
                        "there is no model '" + model + "' at " + url
                                + "; check the model's name and url in this server's configuration" + because);
            case 408, 425, 429 ->
                new ModelException(
                        Kind.PASSING,
                        "the model has too much to do (status " + status + ")" + because,
                        after(retryAfter));
            default -> {
                if (status >= 500) {
                    yield new ModelException(
                            Kind.PASSING,
                            "the model's server failed (status " + status + ")" + because,
                            after(retryAfter));
                }
                if (status < 400) {
                    yield new ModelException(
                            Kind.LASTING,
                            "the model's server answered with status " + status + "; check the model's url");
                }
                yield new ModelException(
                        status == 413 || TOO_LONG.matcher(body).find() ? Kind.TOO_LONG : Kind.REFUSED,
                        "the model's server refused the request (status " + status + ")" + because);
            }
        };
    }

    /** An error in place of the rest of an answer that had begun, with all that the server said about it. */
    static ModelException inStream(JsonNode error) {
        JsonNode code = error.path("code");
        int status = code.isNumber() ? code.asInt(0) : 0;
        String message = error.path("message").asString(error.asString(""));
        boolean passing = status == 429
                || status >= 500
                || Pattern.compile("overloaded|rate.?limit|unavailable|server.?error|timeout", Pattern.CASE_INSENSITIVE)
                        .matcher(error.toString())
                        .find();
        return new ModelException(
                passing ? Kind.PASSING : Kind.LASTING,
                "the model broke off its answer" + (message.isEmpty() ? "" : ": " + message));
    }

    /** The message of an error in the usual form; nothing of a web page. */
    static String said(String body) {
        try {
            JsonNode json = JSON.readTree(body);
            JsonNode error = json.path("error");
            return Words.line(
                    error.path("message")
                            .asString(error.asString(json.path("message").asString(""))),
                    LONGEST);
        } catch (JacksonException e) {
            return body.stripLeading().startsWith("<") ? "" : Words.line(body, LONGEST);
        }
    }

    /** RFC 9110, 10.2.3: seconds, or a date. */
    private static Optional<Duration> after(Optional<String> header) {
        return header.flatMap(value -> {
            try {
                return Optional.of(
                        value.strip().matches("[0-9]{1,9}")
                                ? Duration.ofSeconds(Long.parseLong(value.strip()))
                                : Duration.between(
                                        Instant.now(),
                                        ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME)));
            } catch (DateTimeParseException e) {
                return Optional.<Duration>empty();
            }
        });
    }
}
