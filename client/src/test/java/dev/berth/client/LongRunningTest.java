package dev.berth.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import dev.berth.client.TerminalConnection.Message;
import dev.berth.gateway.TestingBerth;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs, approvals, artifacts, webhooks and terminals, against the whole server. Needs root and crun. */
@Timeout(300)
class LongRunningTest {
    private static TestingBerth server;
    private static BerthClient berth;

    @BeforeAll
    static void start() {
        server = new TestingBerth();
        berth = BerthClient.connect(server.url(), server.tenant("acme"));
    }

    @AfterAll
    static void stop() {
        berth.close();
        server.close();
    }

    private static SessionEvent await(EventStream events, String type) {
        for (SessionEvent event : events) {
            if (event.type().equals(type)) {
                return event;
            }
        }
        throw new AssertionError("the events ended without " + type);
    }

    @Test
    void everyByteOfAJobIsReadOnceAndItsEndIsKnown() {
        SessionClient session = berth.session("jobs");
        String id = session.background(
                        BashCall.of("printf 'a\\377b'; for i in $(seq 500); do echo $i; done; echo oops >&2; exit 9"))
                .id()
                .orElseThrow();
        try (EventStream events = session.events(0)) {
            await(events, "job.ended");
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        StringBuilder err = new StringBuilder();
        JobLogs page;
        long after = 0;
        do {
            page = berth.jobs().logs(id, after);
            for (JobLogs.Chunk chunk : page.chunks()) {
                assertThat(chunk.number()).isGreaterThan(after);
                after = chunk.number();
                if (chunk.stream().equals("stdout")) {
                    out.writeBytes(chunk.bytes());
                } else {
                    err.append(new String(chunk.bytes(), UTF_8));
                }
            }
        } while (!page.complete());
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        expected.writeBytes(new byte[] {'a', (byte) 0xff, 'b'});
        for (int i = 1; i <= 500; i++) {
            expected.writeBytes((i + "\n").getBytes(UTF_8));
        }
        assertThat(out.toByteArray()).isEqualTo(expected.toByteArray());
        assertThat(err).hasToString("oops\n");
        Job job = berth.jobs().get(id);
        assertThat(job.state()).isEqualTo("failed");
        assertThat(job.exitCode()).contains(9);
        assertThat(job.endedAt()).isPresent();
        assertThat(job.outputBytes()).isEqualTo(expected.size() + 5);
    }

    @Test
    void jobsAreListedByStateAndStopped() {
        SessionClient session = berth.session("stopping");
        String id = session.background(BashCall.of("sleep 1000")).id().orElseThrow();
        assertThat(session.jobs(Optional.of("running"), 10)).extracting(Job::id).containsExactly(id);
        assertThat(berth.jobs().list(Optional.of("running"), 100))
                .extracting(Job::id)
                .contains(id);
        assertThat(berth.jobs().stop(id).state()).isEqualTo("stopped");
        assertThat(session.jobs(Optional.of("running"), 10)).isEmpty();
        assertThat(catchThrowableOfType(BerthException.class, () -> berth.jobs().get("job_nobody"))
                        .code())
                .isEqualTo("not_found");
    }

    @Test
    void whoFollowsFromTheLastEventOnSeesOnlyWhatComes() {
        SessionClient session = berth.session("later");
        session.background(BashCall.of("echo before"));
        try (EventStream events = session.events(0)) {
            await(events, "job.ended");
        }
        try (EventStream events = session.events(session.info().lastEvent())) {
            String second = session.background(BashCall.of("echo after")).id().orElseThrow();
            SessionEvent output = await(events, "output");
            assertThat(output.data().get("text").text()).isEqualTo("after\n");
            assertThat(output.data().get("job_id").text()).isEqualTo(second);
        }
    }

    @Test
    void aCallWaitsForAPersonWhoAllowsIt() throws Exception {
        berth.make(NewSession.named("asks").withPermissionMode("ask"));
        SessionClient session = berth.session("asks");
        CompletableFuture<RunResult> call = CompletableFuture.supplyAsync(() -> session.bash("echo allowed"));
        try (EventStream events = session.events(0)) {
            await(events, "approval.requested");
        }
        List<Approval> waiting = berth.approvals().list(Optional.of("pending"), Optional.of("asks"));
        assertThat(waiting).hasSize(1);
        Approval approval = waiting.getFirst();
        assertThat(approval.input().get("command").text()).isEqualTo("echo allowed");
        assertThat(approval.expiresAt()).isPresent();
        Approval decided = berth.approvals().decide(approval.id(), Approval.Decision.APPROVE, Optional.of("fine"));
        assertThat(decided.decidedBy()).isPresent();
        assertThat(call.get(60, TimeUnit.SECONDS).stdout()).isEqualTo("allowed\n");
        assertThat(berth.approvals().get(approval.id()).state()).isEqualTo("done");
    }

    @Test
    void aJobThatHasToBeAllowedIsNotWaitedForAndNeverStartedIfItIsDenied() {
        berth.make(NewSession.named("denies").withPermissionMode("ask"));
        SessionClient session = berth.session("denies");
        StartedJob started = session.background(BashCall.of("touch started"));
        assertThat(started.id()).isEmpty();
        String approval = started.approvalId().orElseThrow();
        assertThat(berth.approvals()
                        .decide(approval, Approval.Decision.DENY, Optional.of("not today"))
                        .state())
                .isEqualTo("denied");
        assertThat(session.jobs(Optional.empty(), 10)).isEmpty();
        assertThat(catchThrowableOfType(
                                BerthException.class,
                                () -> berth.approvals().decide(approval, Approval.Decision.APPROVE, Optional.empty()))
                        .code())
                .isEqualTo("conflict");
    }

    @Test
    void whatIsAlwaysAllowedIsNotAskedAgain() {
        berth.make(NewSession.named("always").withPermissionMode("ask"));
        SessionClient session = berth.session("always");
        String approval =
                session.background(BashCall.of("echo once")).approvalId().orElseThrow();
        berth.approvals().decide(approval, Approval.Decision.ALWAYS, Optional.empty());
        try (EventStream events = session.events(0)) {
            await(events, "job.ended");
        }
        assertThat(session.bash("echo again").stdout()).isEqualTo("again\n");
    }

    @Test
    void artifactsAreListedReadFromAnyByteAndRemoved() throws Exception {
        SessionClient session = berth.session("makes");
        session.bash("mkdir -p output && printf 'a,b\\n1,2\\n' > output/table.csv");
        try (EventStream events = session.events(0)) {
            await(events, "artifact.made");
        }
        Artifact artifact = session.artifacts().getFirst();
        assertThat(artifact.name()).isEqualTo("table.csv");
        assertThat(artifact.kind()).isEqualTo("table");
        assertThat(artifact.size()).isEqualTo(8);
        assertThat(berth.artifacts().get(artifact.id()).sha256()).isEqualTo(artifact.sha256());
        try (InputStream all = berth.artifacts().content(artifact.id(), 0);
                InputStream end = berth.artifacts().content(artifact.id(), 4)) {
            assertThat(all.readAllBytes()).asString().isEqualTo("a,b\n1,2\n");
            assertThat(end.readAllBytes()).asString().isEqualTo("1,2\n");
        }
        berth.artifacts().delete(artifact.id());
        assertThat(session.artifacts()).isEmpty();
    }

    @Test
    void attachmentsGetANameThatIsSafeAndNew(@TempDir Path local) throws Exception {
        SessionClient session = berth.session("attached");
        Path file = Files.writeString(local.resolve("f"), "content");
        Upload first = session.attach("report.txt", file);
        assertThat(first.renamed()).isFalse();
        assertThat(first.size()).isEqualTo(7);
        Upload hostile = session.attach("../../etc/passwd\n", file);
        assertThat(hostile.renamed()).isTrue();
        assertThat(hostile.path()).startsWith("uploads/").doesNotContain("..");
        assertThat(session.read(first.path()).content()).contains("content");
    }

    @Test
    void anAddressIsToldThatAJobEnded() throws Exception {
        CompletableFuture<String> told = new CompletableFuture<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            told.complete(new String(exchange.getRequestBody().readAllBytes(), UTF_8));
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        receiver.start();
        try {
            Webhook.Made made = berth.webhooks()
                    .make("http://127.0.0.1:" + receiver.getAddress().getPort() + "/hook");
            assertThat(made.secret()).startsWith("whsec_");
            assertThat(made.toString()).doesNotContain(made.secret());
            assertThat(berth.webhooks().list())
                    .extracting(Webhook::id)
                    .contains(made.webhook().id());
            String job =
                    berth.session("hooked").background(BashCall.of("true")).id().orElseThrow();
            assertThat(told.get(60, TimeUnit.SECONDS)).contains(job);
            assertThat(berth.webhooks().deliveries(made.webhook().id()))
                    .filteredOn(delivery -> delivery.job().equals(job))
                    .singleElement()
                    .satisfies(delivery -> assertThat(delivery.event()).isEqualTo("agent.finished"));
            berth.webhooks().delete(made.webhook().id());
            assertThat(berth.webhooks().list()).isEmpty();
        } finally {
            receiver.stop(0);
        }
    }

    @Test
    void aTerminalGoesOnWithoutUsAndTellsHowItEnded() throws Exception {
        berth.make(NewSession.named("types"));
        SessionClient session = berth.session("types");
        try (TerminalConnection terminal = session.terminal("main", 90, 30)) {
            assertThat(terminal.receive()).isInstanceOfSatisfying(Message.Attached.class, attached -> {
                assertThat(attached.terminal()).isEqualTo("main");
                assertThat(attached.cols()).isEqualTo(90);
                assertThat(attached.rows()).isEqualTo(30);
            });
            type(terminal, "echo le''ft\n");
            awaitOutput(terminal, "left");
        }
        assertThat(session.terminals())
                .extracting(terminal -> terminal.get("terminal").text())
                .containsExactly("main");
        try (TerminalConnection terminal = session.terminal("main", 100, 40)) {
            awaitOutput(terminal, "left");
            type(terminal, "stty size; exit 6\n");
            awaitOutput(terminal, "40 100");
            Message message = terminal.receive();
            while (message instanceof Message.Output) {
                message = terminal.receive();
            }
            assertThat(message).isEqualTo(new Message.Exit(6));
        }
        assertThat(catchThrowableOfType(
                                BerthException.class,
                                () -> berth.session("nobody").terminal("main", 80, 24))
                        .code())
                .isEqualTo("not_found");
    }

    private static void type(TerminalConnection terminal, String text) throws Exception {
        byte[] bytes = text.getBytes(UTF_8);
        terminal.send(bytes, 0, bytes.length);
    }

    private static void awaitOutput(TerminalConnection terminal, String text) throws Exception {
        StringBuilder seen = new StringBuilder();
        while (seen.indexOf(text) < 0) {
            switch (terminal.receive()) {
                case Message.Output output -> seen.append(new String(output.bytes(), UTF_8));
                case Message.Attached _ -> {}
                case Message other -> throw new AssertionError(other + " after " + seen);
            }
        }
    }
}
