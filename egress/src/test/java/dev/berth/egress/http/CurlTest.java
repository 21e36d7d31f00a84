package dev.berth.egress.http;

import static dev.berth.egress.http.World.PLACEHOLDER;
import static dev.berth.egress.http.World.VALUE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.policy.Binding.Place;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Content;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
class CurlTest {
    private World world;
    private Origin origin;
    private final BlockingQueue<String> keys = new LinkedBlockingQueue<>();

    @BeforeEach
    void start() throws Exception {
        world = new World();
        origin = world.secure("api.test", (request, response, callback) -> {
            String body = Content.Source.asString(request, StandardCharsets.UTF_8);
            keys.add(String.valueOf(request.getHeaders().get("X-Api-Key")));
            Content.Sink.write(response, true, "got " + body.length() + " " + keys.peek(), callback);
        });
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    private String curl(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                "curl",
                "--silent",
                "--show-error",
                "--include",
                "--max-time",
                "30",
                "--proxy",
                "http://127.0.0.1:" + world.proxyPort(),
                "--cacert",
                world.authorityFile().toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(40, TimeUnit.SECONDS)).isTrue();
        return output;
    }

    @ParameterizedTest
    @ValueSource(strings = {"--http1.1", "--http2"})
    void curlGetsItsAnswerAndNotTheValue(String version) throws Exception {
        String output = curl(
                version,
                "--header",
                "X-Api-Key: " + PLACEHOLDER,
                "--data",
                "x".repeat(100_000),
                "https://api.test:" + origin.port() + "/");

        assertThat(output).contains("got 100000 " + "*".repeat(VALUE.length())).doesNotContain(VALUE);
        assertThat(output).contains(version.equals("--http2") ? "HTTP/2 200" : "HTTP/1.1 200 OK");
        assertThat(keys.poll(60, TimeUnit.SECONDS)).isEqualTo(VALUE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--http1.1", "--http2"})
    void curlIsToldWhyItsPlaceholderDoesNotPass(String version) throws Exception {
        String output = curl(version, "--data", PLACEHOLDER, "https://api.test:" + origin.port() + "/");

        assertThat(output).containsIgnoringCase("x-berth-refused: placeholder").contains("berth: ");
        assertThat(keys).isEmpty();
    }
}
