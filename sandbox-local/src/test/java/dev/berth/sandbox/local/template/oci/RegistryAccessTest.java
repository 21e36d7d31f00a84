package dev.berth.sandbox.local.template.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec.Credentials;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is said to whom, and for how long somebody is listened to. */
@Timeout(60)
final class RegistryAccessTest {
    private final List<HttpServer> servers = new ArrayList<>();
    private final List<String> seen = Collections.synchronizedList(new ArrayList<>());

    @AfterEach
    void stop() {
        servers.forEach(server -> server.stop(0));
    }

    private String serve(HttpHandler handler) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", handler);
        server.start();
        servers.add(server);
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    private static void send(HttpExchange exchange, int status, String header, String value) throws IOException {
        exchange.getResponseHeaders().add(header, value);
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    private static Registry registry(String... hosts) {
        List<String> known = new ArrayList<>();
        for (String host : hosts) {
            known.add("http://" + host);
        }
        return new Registry(RegistryConfig.of(known, Optional.empty()), Duration.ofSeconds(5));
    }

    @Test
    void whomTheRegistrySendsToLearnsNoPassword() throws IOException {
        String elsewhere = serve(exchange -> {
            seen.add(exchange.getRequestURI().getPath() + " "
                    + exchange.getRequestHeaders().getFirst("Authorization"));
            send(exchange, 307, "Location", exchange.getRequestURI().getPath() + "x");
        });
        String host = serve(exchange -> {
            if (exchange.getRequestHeaders().containsKey("Authorization")) {
                send(exchange, 307, "Location", "http://" + elsewhere + "/");
            } else {
                send(exchange, 401, "WWW-Authenticate", "Basic realm=\"tests\"");
            }
        });

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> registry(host, elsewhere)
                        .find(ImageName.parse(host + "/team/image:1"), Optional.of(new Credentials("ann", "secret"))))
                .withMessageContaining("sends elsewhere");
        assertThat(seen).startsWith("/ null", "/x null", "/xx null").allMatch(request -> request.endsWith(" null"));
    }

    @Test
    void whoSendsAByteNowAndThenIsNotListenedToForEver() throws IOException {
        String host = serve(exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream out = exchange.getResponseBody()) {
                for (int i = 0; i < 1000; i++) {
                    out.write(' ');
                    out.flush();
                    Thread.sleep(100);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> registry(host).find(ImageName.parse(host + "/team/image:1"), Optional.empty()))
                .withMessageContaining("too slow");
    }
}
