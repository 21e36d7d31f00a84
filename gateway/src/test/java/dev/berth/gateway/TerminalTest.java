package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import java.net.http.WebSocketHandshakeException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** Terminals as people use them, over WebSockets. Needs root and crun. */
@Timeout(300)
class TerminalTest {
    private static final String ESCAPE = "\u001b";
    private static final String INTERRUPT = "\u0003";

    private static TestingBerth berth;
    private static String acme;

    @BeforeAll
    static void start() {
        // Looked after often, or who waits for a session to fall asleep waits for a minute.
        berth = new TestingBerth(
                config -> config,
                config -> config.withIntervals(Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofMinutes(10)));
        acme = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static String session(String name) {
        assertThat(berth.post(acme, "/v1/sessions", "{\"session_id\":\"" + name + "\"}")
                        .status())
                .isEqualTo(201);
        return "/v1/sessions/" + name;
    }

    private static TerminalClient open(String path) {
        return TerminalClient.open(berth.url(), acme, path);
    }

    private static String run(String session, String command) {
        return berth.post(
                        acme,
                        "/v1/sandbox/bash",
                        "{\"session_id\":\"" + session + "\",\"command\":\"" + command + "\"}")
                .json()
                .path("stdout")
                .asString();
    }

    @Test
    void aFileIsWrittenWithVim() {
        String session = session("vim");
        try (TerminalClient terminal = open(session + "/terminals/main?cols=100&rows=30")) {
            JsonNode attached = terminal.told("attached");
            assertThat(attached.path("terminal").asString()).isEqualTo("main");
            assertThat(attached.path("cols").asInt()).isEqualTo(100);
            assertThat(attached.path("rows").asInt()).isEqualTo(30);
            terminal.type("vim -u NONE notes.txt\r");
            terminal.until("[New"); // of the line that says what file this is
            terminal.type("ifirst line\rsecond, with ümlaut" + ESCAPE);
            terminal.until("mlaut"); // what is not ASCII is followed by a move of the cursor
            terminal.type(":wq\r");
            terminal.until("written");
            terminal.type("echo back in $((40 + 2))\r");
            terminal.until("back in 42");
        }
        assertThat(run("vim", "cat notes.txt")).isEqualTo("first line\nsecond, with ümlaut\n");
    }

    @Test
    void programsSeeTheSizeThatWasSetLast() {
        String session = session("size");
        try (TerminalClient terminal = open(session + "/terminals/t?cols=90&rows=20")) {
            terminal.type("stty size\r");
            terminal.until("20 90");
            terminal.say("{\"type\":\"resize\",\"cols\":132,\"rows\":43}");
            terminal.type("stty size\r");
            terminal.until("43 132");
            try (TerminalClient second = open(session + "/terminals/t?cols=70&rows=11")) {
                assertThat(second.told("attached").path("cols").asInt()).isEqualTo(70);
                terminal.type("stty size\r");
                terminal.until("11 70");
                try (TerminalClient watching = open(session + "/terminals/t?cols=33&rows=22&watch=true")) {
                    assertThat(watching.told("attached").path("rows").asInt()).isEqualTo(11);
                    watching.say("{\"type\":\"resize\",\"cols\":44,\"rows\":55}");
                    terminal.type("echo still; stty size\r");
                    terminal.until(all -> all.indexOf("11 70") != all.lastIndexOf("11 70"));
                }
            }
        }
    }

    @Test
    void controlCInterruptsWhatRuns() {
        String session = session("interrupt");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            // The terminal is the program's once it has said something: what was typed before, the shell's line editor
            // would have taken its way. And it runs once it has answered: what is only being started may miss an
            // interrupt.
            terminal.type("sh -c 'echo runs-$((20 + 3)); exec sed --unbuffered s/k/nswer/'; echo ended\r");
            terminal.until("runs-23");
            terminal.type("ak\r");
            terminal.until("answer");
            terminal.type(INTERRUPT);
            terminal.until("^C");
            terminal.type("echo $((6 * 8))\r");
            terminal.until("48");
        }
    }

    @Test
    void twoWatchersSeeTheSameBytesAndOnlyOneWhoMayTypes() {
        String session = session("two");
        try (TerminalClient first = open(session + "/terminals/t");
                TerminalClient second = open(session + "/terminals/t?watch=true")) {
            second.told("attached");
            second.type("touch typed-by-the-watcher\r");
            first.type("seq 1 5000 | md5sum; echo the-en''d\r");
            first.until("the-end");
            second.until("the-end");
            assertThat(common(first.bytes(), second.bytes())).isTrue();
            first.type("ls; echo it''s all\r");
            assertThat(first.until("its all")).doesNotContain("typed-by-the-watcher");
            JsonNode listed = berth.get(acme, session + "/terminals").json().path("terminals");
            assertThat(listed.size()).isEqualTo(1);
            assertThat(listed.path(0).path("terminal").asString()).isEqualTo("t");
            assertThat(listed.path(0).path("watchers").asInt()).isEqualTo(2);
            assertThat(berth.get(acme, session + "/terminals/t")
                            .json()
                            .path("cols")
                            .asInt())
                    .isEqualTo(80);
        }
    }

    /** One may have got the prompt already that the other is yet to get. */
    private static boolean common(byte[] one, byte[] other) {
        int length = Math.min(one.length, other.length);
        return length > 100 && Arrays.equals(one, 0, length, other, 0, length);
    }

    @Test
    void whoComesBackSeesWhatWasShownBeforeAndFindsTheShellAsItWas() {
        String session = session("back");
        byte[] before;
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("PRECIOUS=kept; echo rea''dy\r");
            terminal.until("ready");
            terminal.type("mkfifo gate; (read line < gate; echo la''ter) & echo gate''d\r");
            terminal.until("gated");
            before = terminal.bytes();
        }
        run("back", "echo go > gate"); // what is shown while nobody watches
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            String shown = terminal.until("later");
            assertThat(shown).contains("ready");
            assertThat(terminal.told("attached").path("replayed_bytes").asLong())
                    .isGreaterThanOrEqualTo(before.length);
            terminal.type("echo $PRECIOUS-still\r");
            terminal.until("kept-still");
        }
    }

    @Test
    void oneWhoDoesNotReadSkipsAndSlowsNobody() {
        String session = session("flood");
        try (TerminalClient slow = TerminalClient.slow(berth.url(), acme, session + "/terminals/t");
                TerminalClient quick = open(session + "/terminals/t")) {
            quick.type("head -c 30000000 /dev/zero | tr '\\0' x | fold -w 79; echo flood''ed\r");
            quick.until("flooded");
            quick.type("echo still h''ere\r");
            quick.until("still here");
            slow.read();
            slow.until("still here");
            assertThat(slow.skipped()).isGreaterThan(1 << 20);
            assertThat(slow.bytes().length).isLessThan(29_000_000);
        }
    }

    @Test
    void aFloodCanBeInterruptedAndCostsOthersNothing() {
        String session = session("yes");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("yes\r");
            terminal.until("y\r\ny\r\ny\r\n");
            try (TerminalClient other = open(session + "/terminals/other")) {
                other.type("echo qui''et\r");
                other.until("quiet");
            }
            terminal.type(INTERRUPT);
            terminal.type("echo o''ver\r");
            terminal.until("over");
        }
    }

    @Test
    void atTheEndOfTheShellEverybodyIsToldAndTheNextOneGetsANewOne() {
        String session = session("exit");
        try (TerminalClient first = open(session + "/terminals/t");
                TerminalClient second = open(session + "/terminals/t?watch=true")) {
            second.told("attached");
            first.type("MARK=old; exit 7\r");
            for (TerminalClient each : java.util.List.of(first, second)) {
                assertThat(each.closed()).isEqualTo(1000);
                assertThat(each.told("exit").path("exit_code").asInt()).isEqualTo(7);
            }
        }
        assertThat(berth.get(acme, session + "/terminals/t").status()).isEqualTo(404);
        try (TerminalClient again = open(session + "/terminals/t")) {
            assertThat(again.told("attached").path("replayed_bytes").asLong()).isLessThan(200);
            again.type("echo mark=$MARK.\r");
            again.until("mark=.");
        }
        try (EventReader events = berth.events(acme, session + "/events", Map.of())) {
            assertThat(events.next("terminal").data().path("type").asString()).isEqualTo("terminal.opened");
            JsonNode closed = events.next("terminal").data();
            assertThat(closed.path("type").asString()).isEqualTo("terminal.closed");
            assertThat(closed.path("data").path("exit_code").asInt()).isEqualTo(7);
            assertThat(events.next("terminal").data().path("actor").asString()).isNotEqualTo("berth");
        }
    }

    @Test
    void aTerminalIsEndedForAllWhoWatch() {
        String session = session("end");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("trap 'echo no' HUP; cat\r");
            terminal.until("cat");
            assertThat(berth.delete(acme, session + "/terminals/t").status()).isEqualTo(204);
            assertThat(terminal.closed()).isEqualTo(1000);
            assertThat(terminal.told("exit").path("exit_code").asInt()).isGreaterThan(128);
        }
        assertThat(berth.delete(acme, session + "/terminals/t").status()).isEqualTo(404);
        assertThat(
                        run(
                                "end",
                                "for i in $(seq 200); do pgrep -x cat > /dev/null || break; sleep 0.05; done; pgrep -x cat | wc -l"))
                .isEqualTo("0\n");
    }

    @Test
    void aFrozenTerminalIsThawedByTypingAndByComing() {
        String session = session("frozen");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("WARM=yes\r");
            terminal.until("WARM");
            assertThat(berth.post(acme, session + "/pause", "").status()).isEqualTo(200);
            terminal.type("echo warm=$WARM\r");
            terminal.until("warm=yes");
        }
        assertThat(berth.post(acme, session + "/pause", "").status()).isEqualTo(200);
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("echo again=$WARM\r");
            terminal.until("again=yes");
        }
    }

    @Test
    void onlyThoseWhoAreThereHoldTheSessionUp() {
        String session = session("held");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("echo he''re\r");
            terminal.until("here");
            assertThat(berth.send(acme, "PATCH", session, "{\"idle\":{\"pause_after\":0.2}}")
                            .status())
                    .isEqualTo(200);
            terminal.type("sleep 3; echo aw''ake\r");
            terminal.until("awake");
            assertThat(state("held")).isEqualTo(SessionState.ACTIVE);
        }
        try (EventReader events = berth.events(acme, session + "/events", Map.of())) {
            String type = "";
            while (!type.equals("sandbox.pause")) {
                type = events.next("state").data().path("type").asString();
            }
        }
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            assertThat(terminal.until("awake")).contains("here");
        }
    }

    private static SessionState state(String session) {
        return berth.sessions()
                .find(SessionKey.of("acme", session))
                .orElseThrow()
                .state();
    }

    @Test
    void aSessionThatIsStoppedOrRemovedTakesItsTerminalsWithIt() {
        String session = session("gone");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("MARK=old\r");
            terminal.until("MARK");
            assertThat(berth.post(acme, session + "/stop", "").status()).isEqualTo(200);
            assertThat(terminal.closed()).isEqualTo(4410);
        }
        assertThat(berth.get(acme, session + "/terminals")
                        .json()
                        .path("terminals")
                        .size())
                .isZero();
        assertThat(berth.delete(acme, session + "/terminals/t").status()).isEqualTo(404);
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("echo mark=$MARK.\r");
            terminal.until("mark=.");
            assertThat(berth.delete(acme, session).status()).isEqualTo(204);
            assertThat(terminal.closed()).isEqualTo(4410);
            assertThat(terminal.reason()).startsWith("gone: ");
        }
        refused(session + "/terminals/t", acme, 404);
    }

    @Test
    void messagesThatMakeNoSenseEndTheConnectionAndNothingElse() {
        String session = session("nonsense");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            for (String wrong : java.util.List.of(
                    "not json",
                    "[]",
                    "{}",
                    "{\"type\":\"resize\"}",
                    "{\"type\":\"resize\",\"cols\":0,\"rows\":1}",
                    "{\"type\":\"resize\",\"cols\":1e99,\"rows\":1}",
                    "{\"type\":\"resize\",\"cols\":10,\"rows\":10,\"cols\":11}",
                    "{\"type\":\"resize\",\"cols\":10,\"rows\":10,\"more\":1}",
                    "{\"type\":\"reboot\",\"cols\":10,\"rows\":10}",
                    "{\"a\":".repeat(2000))) {
                try (TerminalClient other = open(session + "/terminals/t")) {
                    other.say(wrong);
                    assertThat(other.closed()).as(wrong).isEqualTo(4400);
                    assertThat(other.reason()).startsWith("invalid: ");
                }
            }
            terminal.type("stty size; echo un''harmed\r");
            assertThat(terminal.until("unharmed")).contains("24 80");
        }
    }

    @Test
    void someOnePastesMoreThanIsReadAndLeaves() {
        String session = session("paste");
        try (TerminalClient terminal = open(session + "/terminals/t")) {
            terminal.type("stty raw -echo; sleep 1000\r");
            terminal.until("sleep");
            try (TerminalClient pasting = open(session + "/terminals/t")) {
                pasting.told("attached");
                for (int i = 0; i < 4; i++) {
                    pasting.send(new byte[100_000]);
                }
            }
            awaitWatchers(session, 1);
            assertThat(berth.delete(acme, session + "/terminals/t").status()).isEqualTo(204);
        }
    }

    private static void awaitWatchers(String session, int count) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (berth.get(acme, session + "/terminals/t").json().path("watchers").asInt() != count) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            Thread.onSpinWait();
        }
    }

    @Test
    void aSessionHasSixteenTerminalsAndNoMore() {
        String session = session("many");
        java.util.List<TerminalClient> all = new java.util.ArrayList<>();
        try {
            for (int i = 0; i < 16; i++) {
                all.add(open(session + "/terminals/t" + i));
                all.getLast().told("attached");
            }
            try (TerminalClient tooMany = open(session + "/terminals/t16")) {
                assertThat(tooMany.closed()).isEqualTo(4429);
            }
            all.getFirst().type("echo f''ine\r");
            all.getFirst().until("fine");
        } finally {
            all.forEach(TerminalClient::close);
        }
    }

    @Test
    void nobodyElseGetsInAndWrongRequestsAreRefused() {
        String session = session("mine");
        String rival = berth.tenant("rival-of-terminals");
        refused(session + "/terminals/t", rival, 404);
        refused(session + "/terminals/t?tenant_id=acme", rival, 404);
        refused("/v1/sessions/nobodys/terminals/t", acme, 404);
        refused(session + "/terminals/t", "berth_" + "0".repeat(48), 401);
        refused(session + "/terminals/t", berth.key("acme", java.util.Set.of()), 403);
        refused(session + "/terminals/t?cols=0&rows=10", acme, 400);
        refused(session + "/terminals/t?cols=10", acme, 400);
        refused(session + "/terminals/t?shell=zsh", acme, 400);
        refused(session + "/terminals/a%20b", acme, 400);
        assertThat(berth.get(rival, session + "/terminals").status()).isEqualTo(404);
        assertThat(berth.delete(rival, session + "/terminals/t").status()).isEqualTo(404);
        assertThat(berth.get(acme, session + "/terminals")
                        .json()
                        .path("terminals")
                        .size())
                .isZero();
    }

    private static void refused(String path, String key, int status) {
        assertThatThrownBy(() -> TerminalClient.open(berth.url(), key, path))
                .as(path)
                .cause()
                .isInstanceOfSatisfying(
                        WebSocketHandshakeException.class,
                        e -> assertThat(e.getResponse().statusCode()).isEqualTo(status));
    }
}
