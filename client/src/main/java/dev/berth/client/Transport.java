package dev.berth.client;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/** Sends calls over HTTP, again if that is safe, and makes failures into {@link BerthException}. */
final class Transport implements AutoCloseable {
    private static final Duration CONNECT = Duration.ofSeconds(10);
    /** A server that wants us to wait for longer is told of, not waited for. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

    private static final Duration FIRST_WAIT = Duration.ofMillis(100);
    /** More than the largest file that an answer holds as a whole. */
    private static final int MOST_BYTES = 256 << 20;

    private static final int MOST_PROBLEM_BYTES = 1 << 20;

    private final URI base;
    private final String key;
    private final int tries;
    private final HttpClient http;

    Transport(URI base, String key, int tries) {
        this.base = base;
        this.key = key;
        this.tries = tries;
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(Version.HTTP_1_1)
                .followRedirects(Redirect.NEVER) // a redirect would take the key along
                .connectTimeout(CONNECT)
                .executor(Executors.newVirtualThreadPerTaskExecutor());
        if (!"https".equals(base.getScheme())) {
            // The JDK's client starts up TLS and reads all certificates of the machine even if it never needs them;
            // that
            // takes longer than a call.
            builder.sslContext(NoTls.context());
        }
        this.http = builder.build();
    }

    URI base() {
        return base;
    }

    String authorization() {
        return "Bearer " + key;
    }

    HttpClient http() {
        return http;
    }

    /** The JSON that the server answers; an empty object where it says nothing. */
    Json json(Call call) {
        return body(send(call));
    }

    static Json body(HttpResponse<InputStream> response) {
        try (InputStream body = response.body()) {
            byte[] bytes = body.readNBytes(MOST_BYTES);
            return bytes.length == 0 ? Json.object() : Json.parse(new String(bytes, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw BerthException.unreachable("the connection broke while the server answered: " + e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw BerthException.malformed(
                    "what answers at " + response.uri() + " is not a Berth server; " + e.getMessage());
        }
    }

    /** An answer with a status of success, whose body has not been read. */
    HttpResponse<InputStream> send(Call call) {
        for (int attempt = 1; ; attempt++) {
            try {
                HttpResponse<InputStream> response = http.send(request(call), BodyHandlers.ofInputStream());
                if (response.statusCode() < 300) {
                    return response;
                }
                BerthException problem = problem(response);
                if (attempt > 1 && call.method().equals("DELETE") && problem.status() == 404) {
                    return response; // the first try did it, only its answer was lost
                }
                if (attempt >= tries || !mayRepeat(call, problem)) {
                    throw problem;
                }
                pause(problem.retryAfter().orElse(FIRST_WAIT));
            } catch (HttpTimeoutException e) {
                throw BerthException.unreachable("the server at " + base + " did not answer in time", e);
            } catch (ConnectException e) { // nothing was sent, so anything may be tried again
                if (attempt >= tries) {
                    throw BerthException.unreachable(
                            "there is no server at " + base + "; start one with 'berth up', or say where it is", e);
                }
                pause(backOff(attempt));
            } catch (IOException e) {
                if (attempt >= tries || !call.repeatable()) {
                    throw BerthException.unreachable(
                            "the connection to " + base + " broke: " + e.getMessage()
                                    + "; whether the call was done is not known",
                            e);
                }
                pause(backOff(attempt));
            } catch (InterruptedException e) {
                throw interrupted(e);
            }
        }
    }

    private static boolean mayRepeat(Call call, BerthException problem) {
        return call.repeatable()
                && problem.status() == 503
                && problem.retryAfter()
                        .filter(wait -> wait.compareTo(LONGEST_WAIT) <= 0)
                        .isPresent();
    }

    /** Below the base, which may have a path where a proxy hands on to the server. */
    URI uri(Call call) {
        return base.resolve(call.target().substring(1));
    }

    private HttpRequest request(Call call) {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri(call))
                .timeout(call.longest())
                .header("Authorization", authorization())
                .method(call.method(), publisher(call.body()));
        type(call.body()).ifPresent(type -> request.header("Content-Type", type));
        call.headers().forEach(request::header);
        return request.build();
    }

    private static Optional<String> type(Call.Body body) {
        return switch (body) {
            case Call.Body.None _ -> Optional.empty();
            case Call.Body.Text _ -> Optional.of("application/json");
            case Call.Body.File file -> Optional.of(file.type());
            case Call.Body.Stream stream -> Optional.of(stream.type());
            case Call.Body.Form form -> Optional.of("multipart/form-data; boundary=" + form.boundary());
        };
    }

    private static BodyPublisher publisher(Call.Body body) {
        return switch (body) {
            case Call.Body.None _ -> BodyPublishers.noBody();
            case Call.Body.Text(Json json) -> BodyPublishers.ofString(json.toString());
            case Call.Body.Stream stream -> BodyPublishers.ofInputStream(stream::stream);
            case Call.Body.File file -> content(file.file());
            case Call.Body.Form form -> content(form);
        };
    }

    private static BodyPublisher content(Path file) {
        try {
            return BodyPublishers.ofFile(file);
        } catch (FileNotFoundException e) {
            throw new IllegalArgumentException("there is no file " + file + " that can be read", e);
        }
    }

    /** RFC 7578. Quotes and line ends in the name of a file are escaped as browsers do it. */
    private static BodyPublisher content(Call.Body.Form form) {
        String begin = "--" + form.boundary() + "\r\nContent-Disposition: form-data; name=\"";
        List<BodyPublisher> parts = new ArrayList<>();
        form.fields()
                .forEach((name, value) ->
                        parts.add(BodyPublishers.ofString(begin + name + "\"\r\n\r\n" + value + "\r\n")));
        for (Path file : form.files()) {
            String name = String.valueOf(file.getFileName())
                    .replace("\"", "%22")
                    .replace("\r", "%0D")
                    .replace("\n", "%0A");
            parts.add(BodyPublishers.ofString(
                    begin + "files\"; filename=\"" + name + "\"\r\nContent-Type: application/octet-stream\r\n\r\n"));
            parts.add(content(file));
            parts.add(BodyPublishers.ofString("\r\n"));
        }
        parts.add(BodyPublishers.ofString("--" + form.boundary() + "--\r\n"));
        return BodyPublishers.concat(parts.toArray(BodyPublisher[]::new));
    }

    private static BerthException problem(HttpResponse<InputStream> response) {
        Json problem = Json.object();
        try (InputStream body = response.body()) {
            problem = Json.parse(new String(body.readNBytes(MOST_PROBLEM_BYTES), StandardCharsets.UTF_8));
        } catch (IOException | IllegalArgumentException e) {
            // Not by RFC 9457: what is between us and the server said it, and the status is all there is to tell.
        }
        return BerthException.of(response.statusCode(), response.headers(), problem);
    }

    /** Not the same for everybody, or all who lost a server come back to it at once. */
    static Duration backOff(int attempt) {
        long most = FIRST_WAIT.toMillis() << Math.min(attempt - 1, 6);
        return Duration.ofMillis(most / 2 + ThreadLocalRandom.current().nextLong(most / 2 + 1));
    }

    static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    static BerthException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return BerthException.unreachable("the call was interrupted", e);
    }

    @Override
    public void close() {
        http.shutdownNow(); // also what is followed; nobody waits for an answer any more
    }
}
