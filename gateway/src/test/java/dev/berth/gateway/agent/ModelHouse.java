package dev.berth.gateway.agent;

import dev.berth.agent.ScriptedModel;
import dev.berth.egress.internet.Internet;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** Serves scripted models over TLS, each below a path of its own: {@code https://llm.test/NAME/v1}. */
final class ModelHouse {
    static final String HOST = "llm.test";

    private static final int MOST_HEAD = 16 << 10;

    private final Map<String, ScriptedModel> models = new ConcurrentHashMap<>();
    private final SSLContext tls;

    /** It is closed with the internet that it is in. */
    ModelHouse(Internet internet, InetAddress address) {
        tls = internet.authority().server(HOST);
        internet.names().name(HOST, address);
        ServerSocket listening = internet.listen(address, 443);
        Thread.ofVirtual().name("models").start(() -> accept(listening));
    }

    ScriptedModel model(String name) {
        return models.computeIfAbsent(name, _ -> new ScriptedModel());
    }

    static String url(String name) {
        return "https://" + HOST + "/" + name + "/v1";
    }

    private void accept(ServerSocket listening) {
        try (listening) {
            while (true) {
                Socket socket = listening.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // The internet is closed, and this with it.
        }
    }

    private void serve(Socket plain) {
        try (SSLSocket socket = (SSLSocket) tls.getSocketFactory().createSocket(plain, HOST, plain.getPort(), true)) {
            socket.setUseClientMode(false);
            BufferedInputStream input = new BufferedInputStream(socket.getInputStream(), MOST_HEAD);
            input.mark(MOST_HEAD);
            StringBuilder line = new StringBuilder();
            for (int c = input.read(); c >= 0 && c != '\n'; c = input.read()) {
                line.append((char) c);
            }
            input.reset();
            String[] path = line.toString().split("/");
            if (path.length > 1) {
                model(path[1]).serve(input, Objects.requireNonNull(socket.getOutputStream()));
            }
        } catch (IOException e) {
            // Connections that were opened ahead and never used end like this.
        }
    }

    /** A header of the last request to a model. */
    String header(String name, String header) {
        String head = model(name).heads().getLast();
        return head.lines()
                .filter(line -> line.regionMatches(true, 0, header + ":", 0, header.length() + 1))
                .map(line -> new String(
                                line.substring(header.length() + 1).getBytes(StandardCharsets.ISO_8859_1),
                                StandardCharsets.UTF_8)
                        .strip())
                .findFirst()
                .orElse("");
    }
}
