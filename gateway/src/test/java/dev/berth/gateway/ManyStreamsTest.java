package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Two thousand who watch, some of whom never read, and a server with the heap it has by default. Needs root and crun. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyStreamsTest {
    private static final Logger LOG = LoggerFactory.getLogger(ManyStreamsTest.class);
    private static final int READING = 1900;
    private static final int NOT_READING = 100;
    private static final int SESSIONS = 10;
    /** How many connect at the same moment. */
    private static final int AT_A_TIME = 50;

    private static final int ROUNDS = 10;
    /** More than the kernel takes for a connection that is not read from. */
    private static final int BACKLOG_EVENTS = 400;

    private static final int BACKLOG_CHARACTERS = 20_000;
    private static final long HEAP = 512L << 20;

    private final List<Socket> sockets = new ArrayList<>();
    private Process process;
    private BufferedReader answers;
    private BufferedWriter orders;
    private URI url;
    private String key;

    @BeforeEach
    void start() throws IOException {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseG1GC",
                        "-Xmx" + (HEAP >> 20) + "m",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        StreamServer.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        answers = process.inputReader(UTF_8);
        orders = process.outputWriter(UTF_8);
        String[] ready = answer("READY ").split(" ");
        url = URI.create(ready[0]);
        key = ready[1];
    }

    @AfterEach
    void stop() throws Exception {
        for (Socket socket : sockets) {
            socket.close();
        }
        orders.close();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
        assertThat(process.exitValue()).isZero();
    }

    /** What it says next of this kind; all else there is its log. */
    private String answer(String prefix) throws IOException {
        for (String line = answers.readLine(); line != null; line = answers.readLine()) {
            if (line.startsWith(prefix)) {
                return line.substring(prefix.length());
            }
        }
        throw new AssertionError("the server has ended");
    }

    private long order(String order) throws IOException {
        orders.write(order + "\n");
        orders.flush();
        return Long.parseLong(answer("DONE "));
    }

    /** The number of the last event, when there are so many. */
    private long awaitLast(String session, long number) throws IOException {
        long last = order("last " + session);
        while (last < number) {
            last = order("last " + session);
        }
        return last;
    }

    private Socket open(String session, long after, int receiveBuffer) throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.setReceiveBufferSize(receiveBuffer);
        socket.connect(new InetSocketAddress(url.getHost(), url.getPort()));
        String request = "GET /v1/sessions/" + session + "/events?after=" + after + " HTTP/1.1\r\nHost: berth\r\n"
                + "Authorization: Bearer " + key + "\r\nAccept: text/event-stream\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(US_ASCII));
        return socket;
    }

    private void bash(HttpClient client, String session) throws Exception {
        HttpResponse<String> response = client.send(
                HttpRequest.newBuilder(url.resolve("/v1/sandbox/bash"))
                        .header("Authorization", "Bearer " + key)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(
                                "{\"session_id\":\"" + session + "\",\"command\":\"echo here\"}"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.body()).contains("here");
    }

    /** One that reads. Events are numbered without gaps, so that the next number is the only right one. */
    private static final class Watcher {
        private final Socket socket;
        private boolean connected;
        private long last;
        private @Nullable String wrong;

        Watcher(Socket socket, long after) {
            this.socket = socket;
            this.last = after;
            Thread.ofVirtual().start(this::read);
        }

        private void read() {
            try {
                BufferedReader lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8), 1024);
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.startsWith("HTTP/1.1 ")) {
                        see(line.startsWith("HTTP/1.1 200") ? null : line);
                    } else if (line.startsWith("id: ")) {
                        see(Long.parseLong(line.substring(4)));
                    } else if (line.startsWith("event: error")) {
                        see(line);
                    }
                }
            } catch (IOException e) {
                see(e.toString()); // at the end of the test nobody looks any more
            }
        }

        private synchronized void see(@Nullable String problem) {
            connected = true;
            wrong = problem;
            notifyAll();
        }

        private synchronized void see(long number) {
            if (number != last + 1) {
                wrong = number + " after " + last;
            }
            last = number;
            notifyAll();
        }

        synchronized void awaitConnected() throws InterruptedException {
            while (!connected) {
                wait();
            }
            assertThat(wrong).isNull();
        }

        synchronized void await(long number) throws InterruptedException {
            while (last < number && wrong == null) {
                wait();
            }
            assertThat(wrong).isNull();
        }
    }

    @Test
    void everyoneSeesEverythingOnceInOrderWhileSomeNeverRead() throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            for (int i = 0; i < SESSIONS; i++) {
                bash(client, "s" + i);
            }
            order("events s0 " + BACKLOG_EVENTS + " " + BACKLOG_CHARACTERS);
            Map<String, Long> seen = new HashMap<>();
            for (int i = 0; i < SESSIONS; i++) {
                seen.put("s" + i, awaitLast("s" + i, i == 0 ? BACKLOG_EVENTS : 1));
            }
            for (int i = 0; i < NOT_READING; i++) {
                open("s0", 0, 4096);
            }
            long began = System.nanoTime();
            List<Watcher> watchers = new ArrayList<>();
            for (int i = 0; i < READING; i++) {
                String session = "s" + i % SESSIONS;
                long after = seen.getOrDefault(session, 0L);
                watchers.add(new Watcher(open(session, after, 16 << 10), after));
                if (i >= AT_A_TIME) {
                    watchers.get(i - AT_A_TIME).awaitConnected();
                }
            }
            for (Watcher watcher : watchers) {
                watcher.awaitConnected();
            }
            long opened = System.nanoTime();
            long slowest = 0;
            for (int round = 0; round < ROUNDS; round++) {
                slowest = Math.max(slowest, tellAll(client, watchers, seen));
            }
            long heap = order("heap");
            LOG.info(
                    "{} streams connected in {} ms, all told in {} ms at most, {} MB of heap",
                    READING,
                    TimeUnit.NANOSECONDS.toMillis(opened - began),
                    TimeUnit.NANOSECONDS.toMillis(slowest),
                    heap >> 20);
            assertThat(heap).isLessThan(HEAP);
        }
    }

    /** Lets something happen in each session, and a command run meanwhile; nanoseconds until everybody knows. */
    private long tellAll(HttpClient client, List<Watcher> watchers, Map<String, Long> seen) throws Exception {
        long began = System.nanoTime();
        for (int i = 0; i < SESSIONS; i++) {
            order("events s" + i + " 1 200");
        }
        bash(client, "s0");
        long answered = System.nanoTime() - began;
        for (Map.Entry<String, Long> session : seen.entrySet()) {
            session.setValue(awaitLast(session.getKey(), session.getValue() + 1));
        }
        for (int i = 0; i < watchers.size(); i++) {
            watchers.get(i).await(seen.getOrDefault("s" + i % SESSIONS, 0L));
        }
        long told = System.nanoTime() - began;
        assertThat(TimeUnit.NANOSECONDS.toSeconds(answered))
                .as("seconds that a command took")
                .isLessThan(30);
        assertThat(TimeUnit.NANOSECONDS.toSeconds(told))
                .as("seconds until everybody knew")
                .isLessThan(60);
        return told;
    }
}
