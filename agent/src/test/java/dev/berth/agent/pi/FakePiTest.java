package dev.berth.agent.pi;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What a pi does that is broken, hostile or older than any we know: programs in its place, in real sandboxes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FakePiTest {
    /** Answers as pi does, unless the test says otherwise. */
    private static final String BEGINNING = """
            #!/usr/bin/env python3
            import json, os, sys, time
            def say(**record):
                print(json.dumps(record), flush=True)
            def answer(request, **more):
                say(type='response', command=request['type'], success=True, id=request['id'], **more)
            def state(request, busy=False):
                answer(request, data={'isStreaming': busy, 'pendingMessageCount': 0})
            def run(text):
                say(type='agent_start')
                say(type='message_update', assistantMessageEvent={'type': 'text_delta', 'delta': text})
                say(type='agent_end', willRetry=False)
                say(type='agent_settled', aborted=False)
            def requests():
                for line in sys.stdin:
                    yield json.loads(line)
            """;

    private static final String ORDINARY = """
            for request in requests():
                if request['type'] == 'get_state': state(request)
                else:
                    answer(request)
                    run('you said ' + request['message'])
            """;

    private final PiRuntime runtime = new PiRuntime();
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

    /** A sandbox with the program as its pi. */
    private final class Place implements AutoCloseable {
        private final Heard heard = new Heard();
        private final Sandbox sandbox;
        private Duration patience = Duration.ofSeconds(30);

        Place(String program) {
            sandbox = machine.provider()
                    .create(SandboxSpec.of("fake-" + count.incrementAndGet(), "host")
                            .withEnv(Map.of("PATH", "/home/user/bin:/usr/bin:/bin")));
            sandbox.files().write("bin/pi", new ByteArrayInputStream((BEGINNING + program).getBytes(UTF_8)), 0755);
        }

        Place patience(Duration newPatience) {
            patience = newPatience;
            return this;
        }

        Station station() {
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

        Agent attach() {
            return runtime.attach(station(), heard.position(), heard.busy(), heard)
                    .orElseThrow();
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
        SandboxException failure = org.assertj.core.api.Assertions.catchThrowableOfType(SandboxException.class, action);
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
            place.sandbox.files().remove("bin/pi");
            assertThat(failure(ErrorCode.UNSUPPORTED, place::start)).hasMessageContaining("lacks the program 'pi'");
        }
    }

    @Test
    void itSaysWhatItWasTold() {
        try (Place place = new Place("""
                for request in requests():
                    say(**request)
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        run('you said ' + request['message'])
                """);
                Agent agent = place.start()) {
            talk(place, agent);
        }
    }

    @Test
    void itPrintsGarbageBetweenItsRecords() {
        try (Place place = new Place("""
                def garbage():
                    sys.stdout.flush()
                    os.write(1, b'\\\\x1b[31mwarning\\\\x1b[0m\\\\n\\\\n{"type":\\\\n[1,2]\\\\n"text"\\\\nnull\\\\n7 8\\\\n{}\\\\n{"type":{}}\\\\n')
                    os.write(1, b'\\\\x00\\\\xff\\\\xfe' * 1000000 + b'\\\\n' + b'[' * 100000 + b'\\\\n' + b'{"a":' * 100000 + b'\\\\n')
                    os.write(2, b'complaint ' * 100000)
                for request in requests():
                    garbage()
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        garbage()
                        run('you said ' + request['message'])
                """.replace("\\\\", "\\"));
                Agent agent = place.start()) {
            talk(place, agent);
        }
    }

    @Test
    void itDoesNotSayWhichRequestItDidNotUnderstand() {
        try (Place place = new Place("""
                for request in requests():
                    if request['type'] == 'get_state': state(request)
                    else: say(type='response', command='parse', success=False, error='Failed to parse command')
                """);
                Agent agent = place.start()) {
            long began = System.nanoTime();
            assertThat(failure(ErrorCode.UNAVAILABLE, () -> agent.say("hello")))
                    .hasMessageContaining("refused 'prompt': Failed to parse command");
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(place.patience);
            assertThat(agent.alive()).isTrue();
        }
    }

    @Test
    void itAnswersInAnyOrderAndToNobody() {
        try (Place place = new Place("""
                first = None
                for request in requests():
                    say(type='response', command='prompt', success=True, id='somebody')
                    if request['type'] == 'get_state': state(request)
                    elif first is None:
                        first = request
                        run('first')
                    else:
                        say(type='response', command='prompt', success=False, id=request['id'], error='second')
                        answer(first)
                """);
                Agent agent = place.start()) {
            Thread other = Thread.ofVirtual().start(() -> agent.say("one"));
            place.heard.ended();
            assertThat(failure(ErrorCode.UNAVAILABLE, () -> agent.say("two"))).hasMessageContaining("second");
            assertThat(other.join(Duration.ofSeconds(60))).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void itNeverAnswers() {
        try (Place place = new Place("time.sleep(1000)").patience(Duration.ofSeconds(1))) {
            assertThat(failure(ErrorCode.TIMEOUT, place::start)).hasMessageContaining("did not answer 'get_state'");
            assertThat(place.nothingRuns()).isTrue();
        }
    }

    @Test
    void itCannotBeEndedInAGoodWay() {
        try (Place place = new Place("""
                import signal
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                print('nothing to say', file=sys.stderr, flush=True)
                time.sleep(1000)
                """).patience(Duration.ofSeconds(4))) {
            assertThat(failure(ErrorCode.TIMEOUT, place::start)).hasMessageContaining("nothing to say");
            assertThat(place.sandbox
                            .run(dev.berth.sandbox.Command.of("pgrep", "python3"))
                            .code())
                    .as("it is gone")
                    .isEqualTo(1);
        }
    }

    @Test
    void itDiesBeforeItAnswers() {
        try (Place place = new Place("sys.exit('there is no model')")) {
            assertThat(failure(ErrorCode.UNAVAILABLE, place::start))
                    .hasMessageContaining("ended with status 1")
                    .hasMessageContaining("there is no model");
            assertThat(place.heard.events()).isEmpty();
        }
    }

    @Test
    void itDiesOfAMessage() {
        try (Place place = new Place("""
                for request in requests():
                    if request['type'] == 'get_state': state(request)
                    else: os.kill(os.getpid(), 9)
                """);
                Agent agent = place.start()) {
            failure(ErrorCode.UNAVAILABLE, () -> agent.say("hello"));
            assertThat(place.heard.awaitLost()).hasMessageContaining("ended with status 137");
            assertThat(agent.alive()).isFalse();
            failure(ErrorCode.UNAVAILABLE, () -> agent.say("hello"));
            failure(ErrorCode.UNAVAILABLE, agent::abort);
        }
    }

    @Test
    void itDiesInARun() {
        try (Place place = new Place("""
                for request in requests():
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        say(type='agent_start')
                        sys.stdout.write('{"type":"message_upd')
                        sys.stdout.flush()
                        os._exit(3)
                """);
                Agent agent = place.start()) {
            agent.say("hello");
            assertThat(place.heard.awaitLost()).hasMessageContaining("ended with status 3");
            assertThat(place.heard.story()).containsExactly("Began");
            assertThat(agent.busy()).isFalse();
        }
    }

    @Test
    void itReadsNothingAnyMore() {
        try (Place place = new Place("""
                request = next(requests())
                state(request)
                time.sleep(1000)
                """).patience(Duration.ofSeconds(5));
                Agent agent = place.start()) {
            assertThat(failure(ErrorCode.TIMEOUT, () -> agent.say("hello"))).hasMessageContaining("'prompt'");
        }
    }

    @Test
    void itOpensDialogsOfItsOwn() {
        try (Place place = new Place("""
                def request_of(method, **more):
                    say(type='extension_ui_request', id=method, method=method, **more)
                    reply = json.loads(sys.stdin.readline())
                    assert reply == {'type': 'extension_ui_response', 'id': method, 'cancelled': True}, reply
                for request in requests():
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        say(type='extension_ui_request', id='n', method='notify', message='look')
                        request_of('input', title='Your password?')
                        request_of('select', title='berth', options=['a'])
                        request_of('confirm', title='Sure?', message='{}')
                        request_of('confirm', title='berth', message='no json')
                        run('you said ' + request['message'])
                """);
                Agent agent = place.start()) {
            talk(place, agent);
            assertThat(place.heard.all(AgentEvent.Asked.class)).isEmpty();
        }
    }

    @Test
    void aServerLeftHalfARequestBehind() throws IOException {
        try (Place place = new Place("""
                for line in sys.stdin:
                    try: request = json.loads(line)
                    except ValueError:
                        say(type='response', command='parse', success=False, error='half')
                        continue
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        run('you said ' + request['message'])
                """)) {
            place.start().close();
            CommandInfo command = place.sandbox.commands().getFirst();
            try (RunningCommand half = place.sandbox.attach(command.id(), command.stdoutEnd(), 0)) {
                half.stdin().write("{\"type\":\"prompt\",\"mess".getBytes(UTF_8));
            }
            try (Agent agent = place.attach()) {
                talk(place, agent);
            }
        }
    }

    /** As after a record that is too long to be kept, of which only the end is left. */
    @Test
    void whoComesInTheMiddleOfARecordHearsWhatFollows() {
        try (Place place = new Place("""
                for request in requests():
                    if request['type'] == 'get_state': state(request)
                    else:
                        answer(request)
                        run('you said ' + request['message'])
                """)) {
            try (Agent agent = place.start()) {
                talk(place, agent);
            }
            Heard later = new Heard();
            long inTheMiddle = place.heard.position() - "\"agent_settled\", \"aborted\": false}\n".length() - 20;
            try (Agent agent =
                    runtime.attach(place.station(), inTheMiddle, true, later).orElseThrow()) {
                assertThat(later.ended().outcome()).isEqualTo(Outcome.DONE);
                assertThat(later.story()).containsExactly("Ended");
                assertThat(agent.busy()).isFalse();
            }
        }
    }

    /** So that nobody waits for ever: its end was in what could not be kept. */
    @Test
    void aRunWhoseEndWasLostIsOverWhenTheAgentIsIdle() {
        try (Place place = new Place(ORDINARY);
                Agent _ = place.start()) {
            Heard later = new Heard();
            long end = place.sandbox.commands().getFirst().stdoutEnd();
            try (Agent agent = runtime.attach(place.station(), end, true, later).orElseThrow()) {
                assertThat(agent.busy()).isTrue();
                assertThat(later.ended().outcome()).isEqualTo(Outcome.DONE);
                assertThat(agent.busy()).isFalse();
            }
        }
    }

    @Test
    void nobodyIsThereToAttachTo() {
        try (Place place = new Place(ORDINARY)) {
            assertThat(runtime.attach(place.station(), 0, false, place.heard)).isEmpty();
            try (Agent agent = place.start()) {
                agent.end();
                place.heard.awaitLost();
            }
            assertThat(runtime.attach(place.station(), 0, false, place.heard)).isEmpty();
        }
    }

    @Test
    void aListenerThatFailsIsToldThatTheAgentIsLost() {
        try (Place place = new Place(ORDINARY)) {
            Heard lost = new Heard();
            try (Agent agent = runtime.start(place.station(), new dev.berth.agent.AgentListener() {
                @Override
                public void heard(AgentEvent event, long position) {
                    throw new IllegalStateException("cannot");
                }

                @Override
                public void lost(SandboxException why) {
                    lost.lost(why);
                }
            })) {
                agent.say("hello");
                assertThat(lost.awaitLost()).hasMessageContaining("could not be taken up");
                assertThatThrownBy(() -> agent.say("hello")).isInstanceOf(SandboxException.class);
            }
        }
    }
}
