package dev.berth.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.internet.Inside;
import dev.berth.egress.internet.Internet;
import dev.berth.egress.internet.Rules;
import dev.berth.egress.internet.Site;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.HttpSide;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Target;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxId;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Programs inside, servers outside, and what comes through between them. Needs root, for the network namespace. */
class EgressTest {
    private static final SandboxId ID = new SandboxId("s");

    private final Rules rules = new Rules(Network.NONE);
    private final Internet internet = Internet.start();
    private Egress egress = egress(EgressConfig.DEFAULT);
    private Inside inside = new Inside(ID.value(), egress);
    /** What servers found wrong. */
    private final Queue<Throwable> problems = new ConcurrentLinkedQueue<>();

    private Egress egress(EgressConfig config) {
        Gate gate = new Gate(new DnsNames(internet.names().address()), new OwnAddresses(), port -> port == 8080);
        return new Egress(config, gate, _ -> rules, new PlainHttp());
    }

    @AfterEach
    void stop() {
        inside.close();
        egress.close();
        internet.close();
        assertThat(problems).isEmpty();
    }

    /** Says how it was called, and what the program said. */
    private static final class PlainHttp implements HttpSide {
        @Override
        public void proxy(Passage passage) {
            answer(passage, "proxy");
        }

        @Override
        public void within(Passage passage, Gate.Way way, boolean tls) {
            answer(passage, "within " + way.target() + (tls ? " tls" : " plain"));
        }

        private static void answer(Passage passage, String how) {
            InputStream input = passage.connection().input();
            try {
                byte[] buffer = new byte[65_536];
                int n = input.read(buffer);
                passage.connection().output().write((how + "|").getBytes(StandardCharsets.ISO_8859_1));
                boolean waits = new String(buffer, StandardCharsets.ISO_8859_1).contains("/wait ");
                do {
                    passage.connection().output().write(buffer, 0, n);
                    n = waits ? input.read(buffer) : -1;
                } while (n >= 0);
            } catch (IOException e) {
                LoggerFactory.getLogger(PlainHttp.class).debug("cut", e);
            }
        }

        @Override
        public void close() {}
    }

    @Test
    void curlReachesAnAllowedSiteWithoutItsTlsBeingOpened(@TempDir Path directory) throws Exception {
        Site site = site("api.example.com", 10);
        rules.network(Network.restricted(Rule.to("api.example.com")));
        Curl curl = curl(directory, "https://api.example.com/hello?x=1", "--data", "body");
        assertThat(curl.output).contains("the site\nPOST /hello?x=1\n").endsWith("body");
        assertThat(site.seen()).hasSize(1);
        Visit visit = rules.visit();
        assertThat(visit.target()).isEqualTo(new Target("api.example.com", 443));
        assertThat(visit.refused()).isEmpty();
        assertThat(visit.sent()).isGreaterThan(300);
        assertThat(visit.received()).isGreaterThan(500);
        assertThat(rules.unseenVisits()).isEmpty();
    }

    @Test
    void curlShowsWhyAHostIsRefused(@TempDir Path directory) throws Exception {
        rules.network(Network.restricted(Rule.to("api.example.com")));
        Curl curl = curl(directory, "https://evil.example/", "--dump-header", "-");
        assertThat(curl.exit).isEqualTo(56);
        assertThat(curl.output)
                .contains("HTTP/1.1 403 Refused")
                .contains("X-Berth-Refused: not_allowed")
                .contains("Content-Type: text/plain");
        assertThat(rules.visit())
                .isEqualTo(new Visit(
                        new Target("evil.example", 443),
                        Optional.of(Reason.NOT_ALLOWED),
                        "evil.example:443 is not among what this sandbox may reach",
                        0,
                        0));
        assertThat(internet.names().asked()).doesNotContain("evil.example");
    }

    @Test
    void aRefusalIsAWholeAnswerThatSaysWhatIsTheMatter() throws Exception {
        try (Socket program = inside.connect()) {
            say(program, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n");
            String answer = all(program);
            assertThat(answer).startsWith("HTTP/1.1 403 ").contains("\r\nX-Berth-Refused: no_network\r\n");
            String body = answer.substring(answer.indexOf("\r\n\r\n") + 4);
            assertThat(body).isEqualTo("berth: this sandbox has no network\n");
            assertThat(answer).contains("\r\nContent-Length: " + body.length() + "\r\n");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CONNECT a.example HTTP/1.1\r\n\r\n",
                "CONNECT http://a.example:443 HTTP/1.1\r\n\r\n",
                "CONNECT [::1] HTTP/1.1\r\n\r\n",
                "CONNECT u@a.example:443 HTTP/1.1\r\n\r\n",
                "CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
                "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
                "CONNECT a.example:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "CONNECT a.example:443 HTTP/1.1\nHost: a\n\n",
                "CONNECT a.example:443\r\n\r\n",
                "\u0016\u0003\u0001\u0002\0\u0001\0",
                "\u0005\u0001\0"
            })
    void whatIsNotARequestIsRefused(String request) throws Exception {
        rules.network(Network.OPEN);
        try (Socket program = inside.connect()) {
            say(program, request);
            assertThat(all(program)).startsWith("HTTP/1.1 400 ").contains("X-Berth-Refused: bad_request");
        }
    }

    @Test
    void aProgramThatSaysNothingIsLeft() throws Exception {
        stopAndUse(EgressConfig.DEFAULT.withFirstWords(Duration.ofMillis(200)));
        try (Socket program = inside.connect()) {
            assertThat(all(program)).isEmpty();
        }
    }

    @Test
    void otherRequestsAreForTheHttpSideWithAllThatWasRead() throws Exception {
        rules.network(Network.OPEN);
        try (Socket program = inside.connect()) {
            String request = "POST http://a.example/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
            say(program, request);
            assertThat(all(program)).isEqualTo("proxy|" + request);
        }
    }

    @Test
    void whatIsNotTlsOnPort80IsForTheHttpSide() throws Exception {
        internet.names().name("a.example", internet.address(10));
        rules.network(Network.restricted(Rule.to("a.example")));
        try (Socket program = inside.connect()) {
            say(program, "CONNECT a.example:80 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
            connected(program);
            assertThat(all(program)).isEqualTo("within a.example:80 plain|GET / HTTP/1.1\r\n\r\n");
        }
    }

    @Test
    void whatIsLookedIntoIsForTheHttpSideIfItsTlsIsForTheSameHost() throws Exception {
        internet.names().name("a.example", internet.address(10));
        rules.network(Network.restricted(Rule.to("a.example").withMethods("GET")));
        byte[] hello = ClientHelloTest.hello("a.example");
        try (Socket program = tunnel("a.example:443")) {
            program.getOutputStream().write(hello);
            assertThat(all(program))
                    .isEqualTo("within a.example:443 tls|" + new String(hello, StandardCharsets.ISO_8859_1));
        }
        try (Socket program = tunnel("a.example:443")) {
            program.getOutputStream().write(ClientHelloTest.hello("b.example"));
            assertThat(all(program)).isEqualTo("\u0015\u0003\u0003\0\u0002\u00021");
        }
        assertThat(rules.visit().refused()).contains(Reason.HOST_MISMATCH);
        try (Socket program = tunnel("a.example:443")) {
            say(program, "GET / HTTP/1.1\r\n\r\n");
            assertThat(all(program)).contains("X-Berth-Refused: not_tls");
        }
        assertThat(rules.visit().refused()).contains(Reason.NOT_TLS);
    }

    @Test
    void tlsHasToBeForTheHostOfTheConnection() throws Exception {
        site("a.example", 10);
        rules.network(Network.restricted(
                Rule.to("a.example"), Rule.to(internet.address(10).getHostAddress())));
        String address = internet.address(10).getHostAddress();
        record Case(
                String target,
                @org.jspecify.annotations.Nullable String name) {}
        for (Case it : List.of(
                new Case("a.example:443", "b.example"),
                new Case("a.example:443", null),
                new Case(address + ":443", "a.example"))) {
            try (Socket program = tunnel(it.target)) {
                program.getOutputStream().write(ClientHelloTest.hello(it.name));
                assertThat(program.getInputStream().read()).as("%s", it).isEqualTo(21); // an alert
            }
            Visit visit = rules.visit();
            assertThat(visit.refused()).as("%s", it).contains(Reason.HOST_MISMATCH);
            assertThat(visit.sent()).isZero();
        }
        for (Case it : List.of(new Case("a.example:443", "A.Example"), new Case(address + ":443", null))) {
            try (Socket program = tunnel(it.target)) {
                program.getOutputStream().write(ClientHelloTest.hello(it.name));
                assertThat(program.getInputStream().read()).as("%s", it).isEqualTo(22); // the server's handshake
            }
            rules.visit();
        }
    }

    @Test
    void whatIsNotTlsDoesNotPassOnPort443() throws Exception {
        site("a.example", 10);
        rules.network(Network.restricted(Rule.to("a.example")));
        for (String words : List.of("GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n")) {
            try (Socket program = tunnel("a.example:443")) {
                say(program, words);
                assertThat(all(program)).contains("X-Berth-Refused: not_tls");
            }
            assertThat(rules.visit()).satisfies(visit -> {
                assertThat(visit.refused()).contains(Reason.NOT_TLS);
                assertThat(visit.sent()).isZero();
            });
        }
    }

    @Test
    void aServerOfAnotherProtocolMaySpeakFirst() throws Exception {
        serve(2525, socket -> {
            say(socket, "220 hello\r\n");
            assertThat(line(socket)).isEqualTo("QUIT");
        });
        rules.network(Network.restricted(Rule.to("mail.example").withPorts(2525)));
        try (Socket program = tunnel("mail.example:2525")) {
            assertThat(line(program)).isEqualTo("220 hello");
            say(program, "QUIT\r\n");
            assertThat(all(program)).isEmpty();
        }
        assertThat(rules.visit()).isEqualTo(new Visit(new Target("mail.example", 2525), Optional.empty(), "", 6, 11));
    }

    @Test
    void eachSideMaySayThatItHasSaidAll() throws Exception {
        serve(7000, socket -> {
            String words = all(socket);
            say(socket, "you said: " + words);
        });
        rules.network(Network.restricted(Rule.to("mail.example").withPorts(7000)));
        try (Socket program = tunnel("mail.example:7000")) {
            say(program, "one ");
            say(program, "two");
            program.shutdownOutput();
            assertThat(all(program)).isEqualTo("you said: one two");
        }
        assertThat(rules.visit().refused()).isEmpty();
    }

    @Test
    void aServerThatBreaksOffIsReported() throws Exception {
        serve(7000, socket -> {
            line(socket);
            socket.setSoLinger(true, 0);
        });
        rules.network(Network.restricted(Rule.to("mail.example").withPorts(7000)));
        try (Socket program = tunnel("mail.example:7000")) {
            say(program, "hello\r\n");
            assertThat(all(program)).isEmpty();
        }
        assertThat(rules.visit().refused()).contains(Reason.UPSTREAM_RESET);
    }

    @Test
    void aProgramThatBreaksOffEndsTheConnectionOutside() throws Exception {
        CompletableFuture<Integer> end = new CompletableFuture<>();
        serve(7000, socket -> {
            line(socket);
            end.complete(socket.getInputStream().read());
        });
        rules.network(Network.restricted(Rule.to("mail.example").withPorts(7000)));
        try (Socket program = tunnel("mail.example:7000")) {
            say(program, "hello\r\n");
            program.setSoLinger(true, 0);
        }
        assertThat(end.get(60, TimeUnit.SECONDS)).isEqualTo(-1);
        assertThat(rules.visit().refused()).isEmpty();
    }

    @Test
    void aTunnelInWhichNothingIsSaidIsCut() throws Exception {
        stopAndUse(EgressConfig.DEFAULT.withIdle(Duration.ofSeconds(2)));
        serve(7000, socket -> {
            for (int i = 0; i < 5; i++) {
                say(socket, line(socket) + "\r\n");
            }
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        });
        rules.network(Network.restricted(Rule.to("mail.example").withPorts(7000)));
        try (Socket program = tunnel("mail.example:7000")) {
            for (int i = 0; i < 5; i++) {
                assertThat(program.getInputStream().available()).isZero();
                Thread.sleep(450); // silence is what is tested; all in all longer than is allowed at a time
                say(program, "x\r\n");
                assertThat(line(program)).isEqualTo("x");
            }
            assertThat(all(program)).isEmpty();
        }
        assertThat(rules.visit().refused()).contains(Reason.UPSTREAM_TIMEOUT);
    }

    @Test
    void noMoreConnectionsAreOpenThanAllowed() throws Exception {
        serve(7000, socket -> assertThat(line(socket)).isEqualTo("bye"));
        rules.network(
                Network.restricted(Rule.to("mail.example").withPorts(7000)).withCaps(new Caps(1, 0, 0)));
        try (Socket program = tunnel("mail.example:7000")) {
            try (Socket second = inside.connect()) {
                say(second, "CONNECT mail.example:7000 HTTP/1.1\r\n\r\n");
                assertThat(all(second)).startsWith("HTTP/1.1 429 ").contains("X-Berth-Refused: cap_connections");
            }
            try (Socket third = inside.connect()) {
                say(third, "GET http://mail.example:7000/ HTTP/1.1\r\n\r\n");
                assertThat(all(third)).contains("X-Berth-Refused: cap_connections");
            }
            assertThat(rules.visit().refused()).contains(Reason.CAP_CONNECTIONS);
            assertThat(rules.visit().refused()).contains(Reason.CAP_CONNECTIONS);
            say(program, "bye\r\n");
            assertThat(all(program)).isEmpty();
        }
        rules.visit();
        try (Socket program = tunnelOnceThereIsRoom("mail.example:7000")) {
            say(program, "bye\r\n");
            assertThat(all(program)).isEmpty();
        }
    }

    @Test
    void aFloodOfConnectionsBeyondTheCapLeavesThoseThatAreThereAlone() throws Exception {
        serve(7000, socket -> say(socket, line(socket)));
        rules.network(Network.OPEN.withCaps(new Caps(1, 0, 0)));
        List<Socket> flood = new ArrayList<>();
        try (Socket program = tunnel("mail.example:7000")) {
            for (int i = 0; i < 100; i++) {
                flood.add(inside.connect());
            }
            // Some wait for their request to be refused. The others are not waited for.
            List<Socket> open = new ArrayList<>(flood);
            Instant deadline = Instant.now().plusSeconds(60);
            while (open.size() > 16 && Instant.now().isBefore(deadline)) {
                open.removeIf(EgressTest::ended);
            }
            assertThat(open).hasSize(16);
            say(program, "there\r\n");
            assertThat(all(program)).isEqualTo("there");
        } finally {
            for (Socket socket : flood) {
                socket.close();
            }
        }
    }

    @Test
    void noMoreBytesPassThanAllowed() throws Exception {
        serve(7000, socket -> socket.getOutputStream().write(new byte[100_000]));
        rules.carried(10_000);
        rules.network(
                Network.restricted(Rule.to("mail.example").withPorts(7000)).withCaps(new Caps(0, 60_000, 0)));
        try (Socket program = tunnel("mail.example:7000")) {
            assertThat(all(program).length()).isLessThanOrEqualTo(50_000);
        }
        assertThat(rules.visit().refused()).contains(Reason.CAP_BYTES);
        try (Socket program = inside.connect()) {
            say(program, "CONNECT mail.example:7000 HTTP/1.1\r\n\r\n");
            assertThat(all(program)).contains("X-Berth-Refused: cap_bytes");
        }
    }

    @Test
    void bytesPassNoFasterThanAllowed() throws Exception {
        serve(7000, socket -> socket.getOutputStream().write(new byte[200_000]));
        rules.network(
                Network.restricted(Rule.to("mail.example").withPorts(7000)).withCaps(new Caps(0, 0, 100_000)));
        long start = System.nanoTime();
        try (Socket program = tunnel("mail.example:7000")) {
            assertThat(all(program)).hasSize(200_000);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(900));
    }

    @Test
    void aChangeOfTheRulesCutsWhatTheyDoNotAllowAnyMoreAndNothingElse() throws Exception {
        serve(7000, socket -> {
            for (String words = line(socket); !words.isEmpty(); words = line(socket)) {
                say(socket, words + "\r\n");
            }
        });
        internet.names().name("other.example", internet.address(25));
        rules.network(Network.restricted(
                Rule.to("mail.example").withPorts(7000),
                Rule.to("other.example").withPorts(7000)));
        try (Socket cut = tunnel("mail.example:7000");
                Socket stays = tunnel("other.example:7000")) {
            for (Socket program : List.of(cut, stays)) {
                say(program, "there\r\n");
                assertThat(line(program)).isEqualTo("there");
            }
            rules.network(Network.restricted(Rule.to("other.example").withPorts(7000)));
            egress.changed(ID);
            assertThat(all(cut)).isEmpty();
            assertThat(rules.visit()).satisfies(visit -> {
                assertThat(visit.target().host()).isEqualTo("mail.example");
                assertThat(visit.refused()).contains(Reason.NOT_ALLOWED);
            });
            say(stays, "still\r\n");
            assertThat(line(stays)).isEqualTo("still");
            rules.network(Network.NONE);
            egress.changed(ID);
            assertThat(all(stays)).isEmpty();
        }
    }

    @Test
    void aChangeThatTakesAnythingAwayEndsRequestsOfWhichOnlyTheHttpSideKnowsWhereTheyGo() throws Exception {
        Rule one = Rule.to("one.example");
        Rule other = Rule.to("other.example");
        rules.network(Network.restricted(one));
        try (Socket program = inside.connect()) {
            say(program, "GET http://one.example/wait HTTP/1.1\r\n\r\n");
            assertThat(line(program)).startsWith("proxy|GET");
            assertThat(line(program)).isEmpty();
            rules.network(Network.restricted(one, other));
            egress.changed(ID);
            say(program, "more\r\n");
            assertThat(line(program)).isEqualTo("more");
            rules.network(Network.restricted(other));
            egress.changed(ID);
            assertThat(all(program)).isEmpty();
        }
    }

    @Test
    void aChangeEndsWhatTheHttpSideHasTaken() throws Exception {
        internet.names().name("a.example", internet.address(10));
        rules.network(Network.restricted(Rule.to("a.example")));
        try (Socket program = tunnel("a.example:80")) {
            say(program, "GET /wait HTTP/1.1\r\n\r\n");
            assertThat(line(program)).startsWith("within a.example:80 plain|GET");
            assertThat(line(program)).isEmpty();
            rules.network(Network.restricted(Rule.to("b.example")));
            egress.changed(ID);
            assertThat(all(program)).isEmpty();
        }
    }

    @Test
    void aConnectionOnWhichNothingWasSaidYetIsCutToo() throws Exception {
        internet.names().name("a.example", internet.address(10));
        rules.network(Network.restricted(Rule.to("a.example")));
        try (Socket program = tunnel("a.example:80")) {
            rules.network(Network.NONE);
            egress.changed(ID);
            assertThat(all(program)).isEmpty();
        }
        assertThat(rules.visit().refused()).contains(Reason.NOT_ALLOWED);
    }

    @Test
    void whatIsForgottenIsCutAndCountedAnew() throws Exception {
        serve(7000, socket -> assertThat(socket.getInputStream().read()).isEqualTo(-1));
        rules.network(Network.OPEN.withCaps(new Caps(1, 0, 0)));
        try (Socket program = tunnel("mail.example:7000")) {
            egress.forget(ID);
            assertThat(all(program)).isEmpty();
        }
        rules.visit();
        tunnel("mail.example:7000").close();
    }

    @Test
    void anOpenNetworkCarriesAnyProtocolOnAnyPort() throws Exception {
        serve(443, socket -> {
            say(socket, "SSH-2.0-server\r\n");
            say(socket, line(socket));
        });
        rules.network(Network.OPEN);
        try (Socket program = tunnel("mail.example:443")) {
            assertThat(line(program)).isEqualTo("SSH-2.0-server");
            say(program, "SSH-2.0-client\r\n");
            assertThat(all(program)).isEqualTo("SSH-2.0-client");
        }
    }

    @Test
    void aNameThatIsBoundAnewLeadsNowhereElse() throws Exception {
        internet.http(internet.closedAddress(10), 7000, "private");
        serve(7000, socket -> say(socket, "public"));
        internet.names().rebind("rebind.example", internet.address(25), internet.closedAddress(10));
        rules.network(Network.restricted(Rule.to("rebind.example").withPorts(7000)));
        try (Socket program = tunnel("rebind.example:7000")) {
            assertThat(all(program)).isEqualTo("public");
        }
        assertThat(internet.names().asked()).containsExactly("rebind.example", "rebind.example");
        rules.visit();
        try (Socket program = inside.connect()) {
            say(program, "CONNECT rebind.example:7000 HTTP/1.1\r\n\r\n");
            assertThat(all(program)).contains("X-Berth-Refused: private_address");
        }
        assertThat(rules.visit().refused()).contains(Reason.PRIVATE_ADDRESS);
    }

    @Test
    void addressesThatAreNotPublicAreClosedUnlessARuleNamesThem() throws Exception {
        String closed = internet.closedAddress(10).getHostAddress();
        for (InetAddress address : List.of(
                Internet.METADATA, internet.closedAddress(10), internet.machine(), InetAddress.getLoopbackAddress())) {
            rules.network(Network.OPEN);
            try (Socket program = inside.connect()) {
                say(program, "CONNECT " + address.getHostAddress() + ":7000 HTTP/1.1\r\n\r\n");
                assertThat(all(program)).contains("X-Berth-Refused: private_address");
            }
            assertThat(rules.visit().refused()).contains(Reason.PRIVATE_ADDRESS);
        }
        ServerSocket listening = internet.listen(internet.closedAddress(10), 7000);
        answer(listening, socket -> say(socket, "in"));
        rules.network(Network.restricted(Rule.to(closed).withPorts(7000)));
        try (Socket program = tunnel(closed + ":7000")) {
            assertThat(all(program)).isEqualTo("in");
        }
    }

    @Test
    void theServerItselfIsClosedWhateverTheRules() throws Exception {
        rules.network(Network.restricted(Rule.to("0.0.0.0/0").withPorts(8080)));
        for (String host : List.of("127.0.0.1", internet.machine().getHostAddress())) {
            try (Socket program = inside.connect()) {
                say(program, "CONNECT " + host + ":8080 HTTP/1.1\r\n\r\n");
                assertThat(all(program)).contains("X-Berth-Refused: loop");
            }
        }
    }

    @Test
    void whatCannotBeReachedIsSaid() throws Exception {
        internet.names().name("a.example", internet.address(10));
        rules.network(Network.OPEN);
        try (Socket program = inside.connect()) {
            say(program, "CONNECT a.example:7000 HTTP/1.1\r\n\r\n");
            assertThat(all(program)).startsWith("HTTP/1.1 502 ").contains("X-Berth-Refused: unreachable");
        }
        assertThat(rules.visit().refused()).contains(Reason.UNREACHABLE);
        try (Socket program = inside.connect()) {
            say(program, "CONNECT b.example:7000 HTTP/1.1\r\n\r\n");
            assertThat(all(program)).startsWith("HTTP/1.1 502 ").contains("X-Berth-Refused: unknown_host");
        }
        assertThat(rules.visit().refused()).contains(Reason.UNKNOWN_HOST);
    }

    @Test
    void anAddressThatIsDeadDoesNotKeepTheOthersFromBeingTried() throws Exception {
        // The first refuses, and of the second nobody ever hears: it is on a link where it is not there.
        InetAddress nobody =
                InetAddress.ofLiteral(internet.machine().getHostAddress().replaceAll("\\.1$", ".77"));
        internet.names().name("a.example", internet.address(10), nobody, internet.address6(25));
        answer(internet.listen(internet.address6(25), 7000), socket -> say(socket, "six"));
        rules.network(Network.OPEN);
        try (Socket program = tunnel("a.example:7000")) {
            assertThat(all(program)).isEqualTo("six");
        }
    }

    @Test
    void aServerThatDoesNotAnswerIsGivenUp() throws Exception {
        stopAndUse(EgressConfig.DEFAULT.withConnect(Duration.ofMillis(300)));
        String nobody = internet.machine().getHostAddress().replaceAll("\\.1$", ".77");
        rules.network(Network.OPEN);
        try (Socket program = inside.connect()) {
            say(program, "CONNECT " + nobody + ":7000 HTTP/1.1\r\n\r\n");
            assertThat(all(program)).startsWith("HTTP/1.1 504 ").contains("X-Berth-Refused: upstream_timeout");
        }
    }

    @Test
    void closingEndsEverything() throws Exception {
        serve(7000, socket -> assertThat(socket.getInputStream().read()).isEqualTo(-1));
        rules.network(Network.OPEN);
        try (Socket program = tunnel("mail.example:7000")) {
            egress.close();
            assertThat(all(program)).isEmpty();
        }
        try (Socket program = inside.connect()) {
            assertThat(all(program)).isEmpty();
        }
    }

    private static boolean ended(Socket socket) {
        try {
            socket.setSoTimeout(10);
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void stopAndUse(EgressConfig config) {
        inside.close();
        egress.close();
        egress = egress(config);
        inside = new Inside(ID.value(), egress);
    }

    private Site site(String name, int host) {
        internet.names().name(name, internet.address(host));
        return internet.https(
                internet.address(host), 443, "the site", internet.authority().server(name));
    }

    private interface Server {
        void serve(Socket socket) throws IOException;
    }

    /** At mail.example, and at whatever other name of the same address. */
    private void serve(int port, Server server) {
        internet.names().name("mail.example", internet.address(25));
        answer(internet.listen(internet.address(25), port), server);
    }

    private void answer(ServerSocket listening, Server server) {
        Thread.ofVirtual().start(() -> {
            while (!listening.isClosed()) {
                try {
                    Socket socket = listening.accept();
                    Thread.ofVirtual().start(() -> answer(socket, server));
                } catch (IOException e) {
                    if (!listening.isClosed()) {
                        problems.add(e);
                    }
                }
            }
        });
    }

    private void answer(Socket socket, Server server) {
        try (socket) {
            server.serve(socket);
        } catch (AssertionError e) {
            problems.add(e);
        } catch (IOException e) {
            LoggerFactory.getLogger(EgressTest.class).debug("cut", e); // what some tests are about
        }
    }

    private Socket tunnel(String target) throws IOException {
        Socket program = inside.connect();
        say(program, "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
        connected(program);
        return program;
    }

    /** One that has ended is told before it is counted out. */
    private Socket tunnelOnceThereIsRoom(String target) throws IOException {
        while (true) {
            Socket program = inside.connect();
            say(program, "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
            String answer = line(program);
            if (!answer.startsWith("HTTP/1.1 429 ")) {
                assertThat(answer).startsWith("HTTP/1.1 200 ");
                assertThat(line(program)).isEmpty();
                return program;
            }
            program.close();
        }
    }

    private static void connected(Socket program) throws IOException {
        assertThat(line(program)).startsWith("HTTP/1.1 200 ");
        assertThat(line(program)).isEmpty();
    }

    private static void say(Socket socket, String words) throws IOException {
        socket.getOutputStream().write(words.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static String line(Socket socket) throws IOException {
        StringBuilder line = new StringBuilder();
        InputStream input = socket.getInputStream();
        for (int c = input.read(); c >= 0 && c != '\n'; c = input.read()) {
            line.append((char) c);
        }
        return line.toString().stripTrailing();
    }

    private static String all(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }

    private record Curl(int exit, String output) {}

    private Curl curl(Path directory, String url, String... options) throws Exception {
        Path authority = directory.resolve("authority.pem");
        Files.writeString(authority, internet.authority().pem());
        List<String> command = new ArrayList<>(
                List.of("curl", "-sS", "--max-time", "20", "--cacert", authority.toString(), "-x", inside.proxy()));
        command.addAll(List.of(options));
        command.add(url);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Curl(process.waitFor(), output);
    }
}
