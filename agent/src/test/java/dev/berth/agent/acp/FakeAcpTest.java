package dev.berth.agent.acp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.Heard;
import dev.berth.agent.KeptPast;
import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.Soon;
import dev.berth.agent.Station;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.LinkedHashMap;
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

/** What an agent does that is broken, hostile or just another one: programs in its place, in real sandboxes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FakeAcpTest {
    /** Answers as an agent does, unless the test says otherwise. */
    private static final String BEGINNING = """
            #!/usr/bin/env python3
            import json, os, sys, time
            def send(**message):
                print(json.dumps(dict(message, jsonrpc='2.0')), flush=True)
            def answer(request, **result):
                send(id=request['id'], result=result)
            def refuse(request, message):
                send(id=request['id'], error={'code': -32603, 'message': message})
            def update(what, session='s1', **more):
                send(method='session/update', params={'sessionId': session, 'update': dict(more, sessionUpdate=what)})
            def text(text):
                update('agent_message_chunk', content={'type': 'text', 'text': text})
            def end(request, reason='end_turn'):
                answer(request, stopReason=reason)
            def said(request):
                return '|'.join(block['text'] for block in request['params']['prompt'])
            def permission(number, **more):
                send(id=number, method='session/request_permission', params=dict({'sessionId': 's1',
                    'toolCall': {'toolCallId': 'c%s' % number, 'title': 'rm -r /', 'kind': 'execute',
                        'rawInput': {'command': 'rm -r /'}},
                    'options': [{'optionId': 'ever', 'kind': 'allow_always', 'name': 'Ever'},
                        {'optionId': 'yes', 'kind': 'allow_once', 'name': 'Yes'},
                        {'optionId': 'no', 'kind': 'reject_once', 'name': 'No'}]}, **more))
            def read():
                line = sys.stdin.readline()
                if not line: sys.exit(0)
                try: return json.loads(line)
                except ValueError: return {'method': 'noise'}
            def greet(request, load=True):
                if request['method'] == 'initialize':
                    answer(request, protocolVersion=1, agentCapabilities={'loadSession': load})
                elif request['method'] == 'session/new': answer(request, sessionId='s1')
                elif request['method'] == '_berth/ping':
                    send(id=request['id'], error={'code': -32601, 'message': 'Method not found'})
                else: return False
                return True
            def prompts(load=True):
                while True:
                    request = read()
                    if not greet(request, load) and request['method'] == 'session/prompt': yield request
            """;

    private static final String ORDINARY = """
            for request in prompts():
                text('you said ' + said(request))
                end(request)
            """;

    private final AcpRuntime runtime = new AcpRuntime("fake", List.of("fake", "--acp"));
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

    /** A sandbox with the program as its agent. */
    private final class Place implements AutoCloseable {
        private final Heard heard = new Heard();
        private final Sandbox sandbox;
        private Duration patience = Duration.ofSeconds(30);
        private Past past = Past.NONE;

        Place(String program) {
            sandbox = machine.provider()
                    .create(SandboxSpec.of("fake-acp-" + count.incrementAndGet(), "host")
                            .withEnv(Map.of("PATH", "/home/user/bin:/usr/bin:/bin")));
            sandbox.files().write("bin/fake", new ByteArrayInputStream((BEGINNING + program).getBytes(UTF_8)), 0755);
        }

        Place patience(Duration newPatience) {
            patience = newPatience;
            return this;
        }

        Place past(Said... said) {
            past = new KeptPast(Optional.of("s0"), Optional.empty(), List.of(said));
            return this;
        }

        Station station() {
            return new Station(
                    sandbox,
                    "/home/user/work",
                    past,
                    new AgentConfig(
                            "",
                            new Model("fake", "fake", Optional.empty(), "openai-completions", Optional.empty()),
                            new Patience(patience, patience, patience, patience)));
        }

        Agent start() {
            return runtime.start(station(), heard);
        }

        Agent attach() {
            return runtime.attach(station(), heard.position(), heard.busy(), heard)
                    .orElseThrow();
        }

        String read(String path) {
            try (InputStream in = sandbox.files().read(path)) {
                return new String(in.readAllBytes(), UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
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

    private static void talk(Place place, Agent agent) {
        agent.say("hello");
        assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
        assertThat(place.heard.text()).isEqualTo("you said hello");
    }

    @Test
    void itIsMissing() {
        try (Place place = new Place("")) {
            place.sandbox.files().remove("bin/fake");
            assertThat(failure(ErrorCode.UNSUPPORTED, place::start)).hasMessageContaining("lacks the program 'fake'");
        }
    }

    @Test
    void itPrintsGarbageAndWhatItWasToldBetweenItsMessages() {
        try (Place place = new Place("""
                def garbage():
                    sys.stdout.flush()
                    os.write(1, b'\\\\x1b[31mwarning\\\\x1b[0m\\\\n\\\\n{"id":\\\\n[1,2]\\\\nnull\\\\n7 8\\\\n{}\\\\n{"method":{}}\\\\n{"id":null,"result":1}\\\\n')
                    os.write(1, b'\\\\x00\\\\xff\\\\xfe' * 100000 + b'\\\\n' + b'[' * 100000 + b'\\\\n' + b'{"a":' * 100000 + b'\\\\n')
                    os.write(1, b'{"method":"session/update","params":{"sessionId":"s1","update":[]}}\\\\n{"id":"prompt-x","result":{}}\\\\n')
                    os.write(2, b'complaint ' * 10000)
                while True:
                    request = read()
                    send(**{k: v for k, v in request.items() if k != 'jsonrpc'})
                    garbage()
                    if not greet(request) and 'prompt' in request['method']:
                        text('you said ' + said(request))
                        garbage()
                        update('agent_message_chunk', session='another', content={'type': 'text', 'text': 'not mine'})
                        update('a_kind_of_tomorrow', content={'type': 'text', 'text': 'new'})
                        end(request)
                """.replace("\\\\", "\\"));
                Agent agent = place.start()) {
            talk(place, agent);
            assertThat(place.heard.story()).containsExactly("Began", "Ended");
        }
    }

    @Test
    void itSpeaksAnotherVersion() {
        try (Place place = new Place("answer(read(), protocolVersion=2)\nread()")) {
            assertThat(failure(ErrorCode.UNSUPPORTED, place::start)).hasMessageContaining("version 2");
            assertThat(place.nothingRuns()).isTrue();
        }
    }

    @Test
    void itNeverAnswersAndCannotBeEndedInAGoodWay() {
        try (Place place = new Place("""
                import signal
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                print('nothing to say', file=sys.stderr, flush=True)
                time.sleep(1000)
                """).patience(Duration.ofSeconds(2))) {
            assertThat(failure(ErrorCode.TIMEOUT, place::start))
                    .hasMessageContaining("did not answer 'initialize'")
                    .hasMessageContaining("nothing to say");
            assertThat(place.sandbox.run(Command.of("pgrep", "python3")).code())
                    .as("it is gone")
                    .isEqualTo(1);
        }
    }

    @Test
    void itDiesAtEachStage() {
        String dying = """
                stage = %s
                while True:
                    request = read()
                    if request['method'] == stage: sys.exit('I do not like ' + stage)
                    greet(request)
                """;
        for (String stage : List.of("initialize", "session/new")) {
            try (Place place = new Place(dying.formatted("'" + stage + "'"))) {
                assertThat(failure(ErrorCode.UNAVAILABLE, place::start))
                        .hasMessageContaining("ended with status 1")
                        .hasMessageContaining("I do not like " + stage);
                assertThat(place.heard.events()).isEmpty();
            }
        }
        try (Place place = new Place(dying.formatted("'session/prompt'"));
                Agent agent = place.start()) {
            agent.say("hello");
            assertThat(place.heard.awaitLost()).hasMessageContaining("I do not like session/prompt");
            assertThat(agent.alive()).isFalse();
            assertThat(agent.busy()).isFalse();
            failure(ErrorCode.UNAVAILABLE, () -> agent.say("hello"));
            failure(ErrorCode.UNAVAILABLE, agent::abort);
        }
    }

    @Test
    void itDiesInARun() {
        try (Place place = new Place("""
                for request in prompts():
                    text('I was going')
                    sys.stdout.write('{"jsonrpc":"2.0","meth')
                    sys.stdout.flush()
                    os._exit(3)
                """);
                Agent agent = place.start()) {
            agent.say("hello");
            assertThat(place.heard.awaitLost()).hasMessageContaining("ended with status 3");
            assertThat(place.heard.story()).containsExactly("Began");
            assertThat(place.heard.text()).isEqualTo("I was going");
        }
    }

    @Test
    void itEndsTurnsInEveryWay() {
        try (Place place = new Place("""
                for request in prompts():
                    word = said(request)
                    if word == 'error': refuse(request, 'Internal error: the model is away')
                    else: end(request, word)
                """);
                Agent agent = place.start()) {
            Map<String, Outcome> ends = new LinkedHashMap<>();
            ends.put("max_tokens", Outcome.DONE);
            ends.put("refusal", Outcome.FAILED);
            ends.put("cancelled", Outcome.ABORTED);
            ends.put("something_new", Outcome.DONE);
            ends.put("error", Outcome.FAILED);
            int number = 0;
            for (Map.Entry<String, Outcome> end : ends.entrySet()) {
                agent.say(end.getKey());
                number++;
                assertThat(place.heard.ended(number).outcome()).as(end.getKey()).isEqualTo(end.getValue());
            }
            assertThat(place.heard.ended(number).message()).contains("the model is away");
        }
    }

    @Test
    void whatItAsksForThatNobodyDoesIsRefused() {
        try (Place place = new Place("""
                for request in prompts():
                    for number, method in enumerate(['fs/read_text_file', 'terminal/create', 'elicitation/create', 'x']):
                        send(id=number, method=method, params={'path': '/etc/passwd'})
                        reply = read()
                        assert reply['id'] == number and reply['error']['code'] == -32601, reply
                    text('you said ' + said(request))
                    end(request)
                """);
                Agent agent = place.start()) {
            talk(place, agent);
        }
    }

    @Test
    void itsQuestionsAreAnsweredForThisOnceOnly() {
        try (Place place = new Place("""
                for request in prompts():
                    for number in [0, 'a']:
                        permission(number)
                        reply = read()
                        assert reply['id'] == number, reply
                        text(reply['result']['outcome']['optionId'] + ' ')
                    permission(2, options=[{'optionId': 'ever', 'kind': 'allow_always', 'name': 'Ever'}])
                    text(read()['result']['outcome']['outcome'] + ' ')
                    permission('x' * 1000)
                    text(read()['result']['outcome']['outcome'])
                    end(request)
                """);
                Agent agent = place.start()) {
            agent.say("may you?");
            AgentEvent.Asked asked = place.heard.nth(AgentEvent.Asked.class, 1);
            assertThat(asked.tool()).isEqualTo("bash");
            assertThat(asked.title()).isEqualTo("Run rm -r /");
            agent.decide("of another life:[0,\"yes\",\"no\"]", true);
            agent.decide("nonsense", true);
            agent.decide(asked.question(), true);
            agent.decide(place.heard.nth(AgentEvent.Asked.class, 2).question(), false);
            agent.decide(place.heard.nth(AgentEvent.Asked.class, 3).question(), true);
            place.heard.ended();
            assertThat(place.heard.text()).isEqualTo("yes no cancelled cancelled");
            assertThat(place.heard.all(AgentEvent.Asked.class)).hasSize(3);
        }
    }

    @Test
    void openQuestionsAreCancelledWithAnAbort() {
        try (Place place = new Place("""
                for request in prompts():
                    permission(7)
                    reply, cancel = read(), read()
                    assert reply['result'] == {'outcome': {'outcome': 'cancelled'}}, reply
                    assert cancel['method'] == 'session/cancel' and cancel['params'] == {'sessionId': 's1'}, cancel
                    permission(8)
                    assert read()['result'] == {'outcome': {'outcome': 'cancelled'}}
                    end(request)
                """);
                Agent agent = place.start()) {
            agent.say("may you?");
            place.heard.first(AgentEvent.Asked.class);
            agent.abort();
            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(place.heard.all(AgentEvent.Asked.class)).hasSize(1);
            assertThat(agent.alive()).isTrue();
            agent.abort();
            assertThat(place.heard.all(AgentEvent.Ended.class)).hasSize(1);
        }
    }

    @Test
    void oneThatDoesNotStopIsEnded() {
        try (Place place = new Place("""
                for request in prompts():
                    text('for ever')
                    while True: read()
                """).patience(Duration.ofSeconds(5));
                Agent agent = place.start()) {
            agent.say("hello");
            place.heard.first(AgentEvent.Text.class);
            agent.abort();
            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            place.heard.awaitLost();
            assertThat(place.nothingRuns()).isTrue();
        }
    }

    @Test
    void itTellsOfToolsInEveryWay() {
        try (Place place = new Place("""
                def out(text):
                    return [{'type': 'content', 'content': {'type': 'text', 'text': text}}]
                for request in prompts():
                    update('tool_call', toolCallId='a', title='bash', kind='execute', status='pending', rawInput={})
                    update('tool_call_update', toolCallId='a', status='in_progress', rawInput={'command': 'ls'})
                    update('tool_call_update', toolCallId='a', status='in_progress', content=out('x'))
                    update('tool_call_update', toolCallId='a', status='in_progress', content=out('x'))
                    update('tool_call_update', toolCallId='a', status='completed')
                    update('tool_call', toolCallId='b', title='Look it up', kind='fetch', status='completed',
                        content=out('found'))
                    update('tool_call', toolCallId='c', title='later', kind='other', status='pending')
                    update('tool_call', toolCallId='d', title='never', kind='other', status='pending')
                    text('meanwhile')
                    update('tool_call_update', toolCallId='c', status='failed', rawOutput={'error': 'broken'})
                    update('plan', entries=[{'content': 'look', 'status': 'completed'},
                        {'content': 'leap', 'status': 'in_progress'}])
                    end(request)
                """);
                Agent agent = place.start()) {
            agent.say("work");
            place.heard.ended();
            assertThat(place.heard.story())
                    .containsExactly(
                            "Began",
                            "ToolStarted",
                            "ToolEnded",
                            "ToolStarted",
                            "ToolEnded",
                            "ToolStarted",
                            "ToolStarted",
                            "ToolEnded",
                            "Status",
                            "Ended");
            assertThat(place.heard.first(AgentEvent.ToolStarted.class))
                    .isEqualTo(new AgentEvent.ToolStarted("a", "bash", "Run ls", Map.of("command", "ls")));
            assertThat(place.heard.all(AgentEvent.ToolUpdated.class))
                    .containsExactly(new AgentEvent.ToolUpdated("a", "x"));
            assertThat(place.heard.all(AgentEvent.ToolEnded.class))
                    .containsExactly(
                            new AgentEvent.ToolEnded("a", true, "x"),
                            new AgentEvent.ToolEnded("b", true, "found"),
                            new AgentEvent.ToolEnded("c", false, "broken"));
            assertThat(place.heard.first(AgentEvent.Status.class).text()).isEqualTo("Step 2 of 2: leap");
        }
    }

    @Test
    void whatItRemembersIsNotToldAgain() {
        try (Place place = new Place("""
                while True:
                    request = read()
                    if request['method'] == 'session/load':
                        update('user_message_chunk', session='s0', content={'type': 'text', 'text': 'old'})
                        update('agent_message_chunk', session='s0', content={'type': 'text', 'text': 'old'})
                        answer(request)
                    elif not greet(request) and request['method'] == 'session/prompt':
                        update('agent_message_chunk', session='s0', content={'type': 'text', 'text': said(request)})
                        end(request)
                """).past(new Said(false, "old"))) {
            try (Agent agent = place.start()) {
                assertThat(agent.conversation()).isEqualTo("s0");
            }
            // Nothing was told yet, so this one hears from the beginning.
            try (Agent agent = place.attach()) {
                agent.say("new");
                place.heard.ended();
                assertThat(place.heard.text()).isEqualTo("new");
            }
        }
    }

    @Test
    void itIsToldWhatItHasForgottenOnceEvenByTheNextServer() {
        try (Place place = new Place("""
                while True:
                    request = read()
                    if request['method'] == 'session/load': refuse(request, 'no such session')
                    elif not greet(request) and request['method'] == 'session/prompt':
                        text(said(request) + ';')
                        end(request)
                """)
                .past(
                        new Said(false, "the oldest " + "x".repeat(12_000)),
                        new Said(true, "of course"),
                        new Said(false, "remember 42"))) {
            place.start().close();
            try (Agent agent = place.attach()) {
                assertThat(agent.conversation()).isEqualTo("s1");
                agent.say("first");
                place.heard.ended(1);
                assertThat(place.heard.text())
                        .contains("You: of course\nThey: remember 42\n---\n|first;")
                        .doesNotContain("the oldest")
                        .hasSizeLessThan(13_000);
            }
            try (Agent agent = place.attach()) {
                agent.say("second");
                place.heard.ended(2);
                assertThat(place.heard.text()).endsWith("|first;second;");
            }
        }
    }

    @Test
    void oneThatCannotLoadIsToldToo() {
        try (Place place = new Place("""
                for request in prompts(load=False):
                    text(said(request))
                    end(request)
                """).past(new Said(false, "remember 42"));
                Agent agent = place.start()) {
            agent.say("hello");
            place.heard.ended();
            assertThat(place.heard.text()).contains("They: remember 42").endsWith("|hello");
        }
    }

    @Test
    void whatWaitsIsSaidByTheNextServer() {
        try (Place place = new Place("""
                for request in prompts():
                    text(said(request) + ' ')
                    while said(request) == 'first' and not os.path.exists('/home/user/go'): time.sleep(0.02)
                    end(request)
                """)) {
            try (Agent agent = place.start()) {
                agent.say("first");
                place.heard.first(AgentEvent.Text.class);
                agent.say("second");
                agent.say("third");
            }
            place.sandbox.files().write("go", new ByteArrayInputStream(new byte[0]));
            try (Agent _ = place.attach()) {
                assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
                assertThat(place.heard.text()).isEqualTo("first second|third ");
                assertThat(place.heard.story()).containsExactly("Began", "Ended");
            }
        }
    }

    @Test
    void whatWasSaidIsNotSaidAgainAlthoughTheServerWasKilledBeforeItCouldNoteSo() {
        try (Place place = new Place("""
                for request in prompts():
                    while not os.path.exists('/home/user/go'): time.sleep(0.02)
                    text(said(request) + ';')
                    end(request)
                """)) {
            String notes = ".berth/fake/notes.json";
            try (Agent agent = place.start()) {
                agent.say("hello");
                place.heard.first(AgentEvent.Began.class);
            }
            String before = place.read(notes).replace("\"saying\":[]", "\"saying\":[\"hello\"]");
            assertThat(before).contains("hello");
            place.sandbox.files().write(notes, new ByteArrayInputStream(before.getBytes(UTF_8)));
            place.sandbox.files().write("go", new ByteArrayInputStream(new byte[0]));
            try (Agent _ = place.attach()) {
                assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
                assertThat(place.heard.text()).isEqualTo("hello;");
            }
        }
    }

    @Test
    void noMoreWaitsThanThereIsRoomFor() {
        try (Place place = new Place("""
                for request in prompts():
                    text('busy')
                    while True: read()
                """).patience(Duration.ofSeconds(1));
                Agent agent = place.start()) {
            agent.say("hello");
            failure(ErrorCode.LIMIT, () -> agent.say("x".repeat(5 << 20)));
            for (int i = 0; i < 100; i++) {
                agent.say("more");
            }
            failure(ErrorCode.LIMIT, () -> agent.say("more"));
        }
    }

    @Test
    void aServerLeftHalfARequestBehind() throws IOException {
        try (Place place = new Place(ORDINARY)) {
            place.start().close();
            CommandInfo command = place.sandbox.commands().getFirst();
            try (RunningCommand half = place.sandbox.attach(command.id(), command.stdoutEnd(), 0)) {
                half.stdin().write("{\"jsonrpc\":\"2.0\",\"id\":\"prom".getBytes(UTF_8));
            }
            try (Agent agent = place.attach()) {
                talk(place, agent);
            }
        }
    }

    @Test
    void aServerThatWasKilledBeforeItToldOfTheBeginningIsMadeUpFor() throws IOException {
        try (Place place = new Place(ORDINARY)) {
            try (Agent agent = place.start()) {
                agent.say("hello");
                place.heard.ended();
            }
            Heard later = new Heard();
            try (Agent _ = runtime.attach(place.station(), 0, false, later).orElseThrow()) {
                assertThat(later.ended().outcome()).isEqualTo(Outcome.DONE);
                assertThat(later.story()).containsExactly("Began", "Ended");
                assertThat(later.text()).isEqualTo("you said hello");
            }
        }
    }

    @Test
    void oneThatNobodyHasNotesOfIsEnded() throws IOException {
        for (String notes : List.of("", "{", "null", "[1]", "{\"saying\":[],\"waiting\":[]}")) {
            try (Place place = new Place(ORDINARY)) {
                place.start().close();
                place.sandbox
                        .files()
                        .write("/home/user/.berth/fake/notes.json", new ByteArrayInputStream(notes.getBytes(UTF_8)));
                assertThat(runtime.attach(place.station(), 0, true, place.heard))
                        .isEmpty();
                assertThat(place.nothingRuns()).isTrue();
                assertThat(place.heard.events()).isEmpty();
                try (Agent agent = place.start()) {
                    talk(place, agent);
                }
            }
        }
    }

    @Test
    void itsNotesAreForNobodyElse() {
        try (Place place = new Place(ORDINARY);
                Agent agent = place.start()) {
            talk(place, agent);
            assertThat(place.sandbox.files().stat(".berth/fake/notes.json").mode() & 0777)
                    .isEqualTo(0600);
            // What was said is in it until the turn is over, so that another server can say it again.
            assertThat(Soon.is(() -> !place.read(".berth/fake/notes.json").contains("hello")))
                    .isTrue();
        }
    }

    @Test
    void oneThatNobodyKnowsOfIsFoundByItsLock() {
        try (Place place = new Place(ORDINARY)) {
            String lock = "/home/user/.berth/fake/lock";
            place.sandbox.files().makeDirectory("/home/user/.berth/fake");
            try (RunningCommand _ = place.sandbox.start(Command.of("flock", lock, "sleep", "600"))) {
                place.sandbox.run(Command.shell("until ! flock -n " + lock + " true; do sleep 0.02; done"));
                failure(ErrorCode.CONFLICT, place::start);
            }
        }
    }

    @Test
    void itDoesNotAnswerAnyMoreWhenItIsAttachedTo() {
        try (Place place = new Place("""
                while True:
                    request = read()
                    if request['method'] == '_berth/ping': time.sleep(1000)
                    greet(request)
                """).patience(Duration.ofSeconds(5))) {
            place.start().close();
            failure(ErrorCode.TIMEOUT, place::attach);
            assertThat(place.nothingRuns()).isTrue();
        }
    }
}
