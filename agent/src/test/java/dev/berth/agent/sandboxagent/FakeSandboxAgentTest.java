package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.Heard;
import dev.berth.agent.Past;
import dev.berth.agent.Soon;
import dev.berth.agent.Station;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What sandbox-agent does when it is not well: a program in its place, in real sandboxes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FakeSandboxAgentTest {
    /** Does what it is told by a message. */
    private static final String PROGRAM = """
            #!/usr/bin/env python3
            import json, os, sys, threading
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
            options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
            changed, events, state = threading.Condition(), [], {'cuts': 0, 'well': True, 'next': 1}
            def event(skip=0, **message):
                with changed:
                    state['next'] += skip
                    events.append((state['next'], dict(message, jsonrpc='2.0')))
                    state['next'] += 1
                    changed.notify_all()
            def cut():
                with changed:
                    state['cuts'] += 1
                    changed.notify_all()
            def text(text, **more):
                event(method='session/update', params={'sessionId': 's1', 'update': {
                    'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': text}}}, **more)
            class Handler(BaseHTTPRequestHandler):
                def log_message(self, *_): pass
                def reply(self, status, body=''):
                    self.send_response(status)
                    self.end_headers()
                    self.wfile.write(body.encode())
                def allowed(self):
                    good = self.headers['Authorization'] == 'Bearer ' + options['--token']
                    if not good: self.reply(401)
                    return good
                def do_DELETE(self): self.reply(204)
                def do_GET(self):
                    if not self.allowed(): return
                    if self.path == '/v1/health': return self.reply(200 if state['well'] else 500)
                    self.send_response(200)
                    self.end_headers()
                    last, cuts = int(self.headers.get('Last-Event-ID', 0)) - 1, state['cuts'] # the last one once more
                    while state['cuts'] == cuts:
                        with changed:
                            new = [one for one in events if one[0] > last]
                            if not new:
                                changed.wait(0.5)
                                continue
                        for number, message in new:
                            self.wfile.write(b': nothing\\n\\nevent: message\\nid: %d\\ndata: %s\\n\\n'
                                % (number, json.dumps(message).encode()))
                            last = number
                        self.wfile.flush()
                def do_POST(self):
                    if not self.allowed(): return
                    message = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                    method, number = message['method'], message.get('id')
                    if method == 'initialize':
                        assert self.path.endswith('?agent=opencode')
                        event(id=number, result={'protocolVersion': 1})
                    elif method == 'session/new': event(id=number, result={'sessionId': 's1'})
                    elif method == '_berth/ping': event(id=number, error={'code': -32601})
                    elif method == 'session/prompt':
                        word = message['params']['prompt'][0]['text']
                        if word == 'refuse': return self.reply(502, 'Broken pipe')
                        if word == 'exit': event(method='_adapter/agent_exited', params={'success': False, 'code': 9})
                        if word == 'die': os._exit(3)
                        if word == 'hang': # never answers the request
                            text('hanging')
                            threading.Event().wait(60)
                        if word == 'unwell':
                            state['well'] = False
                            cut()
                        if word in ('gap', 'break', 'talk'):
                            text('a', skip=5 if word == 'gap' else 0)
                            if word == 'break': cut()
                            text('b')
                            event(id=number, result={'stopReason': 'end_turn'})
                    self.reply(200)
            server = ThreadingHTTPServer((options['--host'], int(options['--port'])), Handler)
            server.daemon_threads = True
            print('level=info message="server listening"', flush=True)
            server.serve_forever()
            """;

    private final SandboxAgentRuntime runtime = new SandboxAgentRuntime();
    private final AtomicInteger count = new AtomicInteger();
    private TestMachine machine;

    @BeforeAll
    void open() {
        machine = new TestMachine(RuntimeKind.CRUN);
    }

    @AfterAll
    void close() throws IOException {
        machine.close();
    }

    /** A sandbox with the program as its server. */
    private final class Place implements AutoCloseable {
        private final Heard heard = new Heard();
        private final Sandbox sandbox;

        Place(String program) {
            sandbox = machine.provider()
                    .create(SandboxSpec.of("fake-sandbox-agent-" + count.incrementAndGet(), "host")
                            .withLimits(Limits.DEFAULT.withMemory(1L << 30))
                            .withEnv(Map.of("PATH", "/home/user/bin:/usr/bin:/bin")));
            if (!program.isEmpty()) {
                sandbox.files().write("bin/sandbox-agent", new ByteArrayInputStream(program.getBytes(UTF_8)), 0755);
            }
        }

        Station station() {
            Duration patience = Duration.ofSeconds(30);
            return new Station(
                    sandbox,
                    "/home/user/work",
                    Past.NONE,
                    new AgentConfig(
                            "",
                            new Model("fake", "fake", Optional.empty(), "openai-completions", Optional.empty()),
                            new Patience(patience, patience, patience, patience)));
        }

        Agent start() {
            return runtime.start(station(), heard);
        }

        String server() throws IOException {
            try (InputStream in = sandbox.files().read(".berth/sandbox-agent/server")) {
                return new String(in.readAllBytes(), UTF_8);
            }
        }

        boolean nothingRuns() {
            return Soon.is(() -> sandbox.commands().stream()
                    .allMatch(command -> command.exit().isPresent()));
        }

        @Override
        public void close() {
            sandbox.destroy();
        }
    }

    private static SandboxException failure(ErrorCode code, ThrowingCallable action) {
        SandboxException failure = Assertions.catchThrowableOfType(SandboxException.class, action);
        assertThat(failure).isNotNull();
        assertThat(failure.code()).as(failure.getMessage()).isEqualTo(code);
        return failure;
    }

    @Test
    void itIsMissingOrDoesNotComeUp() {
        try (Place place = new Place("")) {
            assertThat(failure(ErrorCode.UNSUPPORTED, place::start)).hasMessageContaining("'sandbox-agent'");
        }
        try (Place place = new Place("#!/bin/sh\necho no port is free >&2; exit 4")) {
            assertThat(failure(ErrorCode.UNAVAILABLE, place::start))
                    .hasMessageContaining("ended with status 4")
                    .hasMessageContaining("no port is free");
            assertThat(place.nothingRuns()).isTrue();
        }
    }

    @Test
    void itsTokenIsForItsUserAlone() throws IOException {
        try (Place place = new Place(PROGRAM);
                Agent agent = place.start()) {
            agent.say("talk");
            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            String token = place.server().split("\n", -1)[1];
            assertThat(token).hasSize(64);
            assertThat(place.sandbox.files().stat(".berth/sandbox-agent/server").mode() & 0777)
                    .isEqualTo(0600);
            assertThat(place.sandbox.commands().toString()).doesNotContain(token);
        }
    }

    @Test
    void eventsThatBreakOffAreTakenUpAndHeardOnce() {
        try (Place place = new Place(PROGRAM);
                Agent agent = place.start()) {
            agent.say("break");
            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.text()).isEqualTo("ab");
            assertThat(place.heard.story()).containsExactly("Began", "Ended");
        }
    }

    @Test
    void eventsThatItHasForgottenAreSaidToBeMissing() {
        try (Place place = new Place(PROGRAM);
                Agent agent = place.start()) {
            agent.say("gap");
            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.story()).containsExactly("Began", "Status", "Ended");
            assertThat(place.heard.text()).isEqualTo("ab");
        }
    }

    @Test
    void aRequestThatItDoesNotAnswerHoldsNobodyUp() {
        try (Place place = new Place(PROGRAM);
                Agent agent = place.start()) {
            long began = System.nanoTime();
            agent.say("hang");
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(30));
            assertThat(place.heard.first(AgentEvent.Text.class).delta()).isEqualTo("hanging");
            assertThat(agent.busy()).isTrue();
        }
    }

    @Test
    void whenItOrItsAgentIsLostBothAreEndedAndTheNextWorks() {
        for (String word : List.of("refuse", "exit", "die", "unwell")) {
            try (Place place = new Place(PROGRAM)) {
                try (Agent agent = place.start()) {
                    agent.say(word);
                    assertThat(place.heard.awaitLost().code()).as(word).isEqualTo(ErrorCode.UNAVAILABLE);
                    assertThat(agent.alive()).isFalse();
                }
                assertThat(place.nothingRuns()).as(word).isTrue();
                Heard next = new Heard();
                try (Agent agent = runtime.start(place.station(), next)) {
                    agent.say("talk");
                    assertThat(next.ended().outcome()).isEqualTo(Outcome.DONE);
                }
            }
        }
    }

    @Test
    void oneWhoseTokenIsLostIsEnded() {
        try (Place place = new Place(PROGRAM)) {
            place.start().close();
            place.sandbox.files().remove(".berth/sandbox-agent/server");
            failure(ErrorCode.TIMEOUT, () -> runtime.attach(place.station(), 0, false, place.heard));
            assertThat(place.nothingRuns()).isTrue();
            assertThat(runtime.attach(place.station(), 0, false, place.heard)).isEmpty();
        }
    }
}
