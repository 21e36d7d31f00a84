package dev.berth.agent.pi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JsonParser;
import tools.jackson.core.filter.FilteringParserDelegate;
import tools.jackson.core.filter.TokenFilter;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class PiRecordsTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String START = "{'type':'agent_start'}";
    private static final String FAILED =
            "{'type':'message_end','message':{'role':'assistant','stopReason':'error','errorMessage':'500 overloaded'}}";
    private static final String STOPPED =
            "{'type':'message_end','message':{'role':'assistant','stopReason':'stop','content':[]}}";
    private static final String OLD_END = "{'type':'agent_end','messages':[]}";

    private final PiRecords records = new PiRecords(false);

    private Optional<AgentEvent> read(String record) {
        return records.read((ObjectNode) JSON.readTree(record.replace('\'', '"')));
    }

    private static Optional<AgentEvent> ended(Outcome outcome) {
        return Optional.of(new AgentEvent.Ended(outcome, Optional.empty()));
    }

    @Test
    void aNewPiSaysItselfWhenARunIsOver() {
        assertThat(read(START)).contains(new AgentEvent.Began());
        assertThat(records.running()).isTrue();
        read(STOPPED);
        assertThat(read("{'type':'agent_end','willRetry':false}")).isEmpty();
        assertThat(records.settling()).isFalse();
        assertThat(read("{'type':'agent_settled','aborted':false}")).isEqualTo(ended(Outcome.DONE));
        assertThat(records.running()).isFalse();
    }

    @Test
    void anOldPiHasToBeAskedWhetherARunIsOver() {
        read(START);
        read(STOPPED);
        assertThat(read(OLD_END)).isEmpty();
        assertThat(records.settling()).isTrue();
        assertThat(records.running()).isTrue();
        assertThat(records.settled()).isEqualTo(ended(Outcome.DONE));
        assertThat(records.settled()).isEmpty();
    }

    @Test
    void tryingAgainIsNotTheEnd() {
        read(START);
        read(FAILED);
        read(OLD_END);
        assertThat(records.failedLast()).isTrue();
        assertThat(read("{'type':'auto_retry_start','attempt':1,'maxAttempts':3,'delayMs':2000,'errorMessage':'500'}"))
                .contains(new AgentEvent.Status("Trying again (1 of 3) in 2 s: 500"));
        assertThat(records.settling()).isFalse();
        assertThat(read(START)).as("the same run").isEmpty();
        read(STOPPED);
        read("{'type':'auto_retry_end','success':true,'attempt':1}");
        read(OLD_END);
        assertThat(records.settled()).isEqualTo(ended(Outcome.DONE));
    }

    @Test
    void aRunThatTriedInVainHasFailed() {
        read(START);
        read(FAILED);
        read(OLD_END);
        read("{'type':'auto_retry_end','success':false,'attempt':3,'finalError':'500'}");
        assertThat(records.failedLast()).as("nothing more is waited for").isFalse();
        assertThat(records.settling()).isTrue();
        assertThat(records.settled()).contains(new AgentEvent.Ended(Outcome.FAILED, Optional.of("500 overloaded")));
    }

    @Test
    void makingTheHistoryShorterIsNotTheEnd() {
        read(START);
        read(OLD_END);
        assertThat(read("{'type':'compaction_start','reason':'overflow'}"))
                .get()
                .isInstanceOf(AgentEvent.Status.class);
        assertThat(records.settling()).isFalse();
        read("{'type':'compaction_end','willRetry':true}");
        assertThat(records.settling()).isFalse();
        read(START);
        read(OLD_END);
        assertThat(records.settling()).isTrue();
    }

    @Test
    void anAbortedRunIsToldAsSuch() {
        read(START);
        read("{'type':'message_end','message':{'role':'assistant','stopReason':'aborted'}}");
        read("{'type':'agent_end','willRetry':false}");
        assertThat(read("{'type':'agent_settled'}")).isEqualTo(ended(Outcome.ABORTED));
    }

    @Test
    void whoComesInTheMiddleOfARunHearsItsEndAndNotItsBeginning() {
        PiRecords later = new PiRecords(true);
        assertThat(later.read(JSON.createObjectNode().put("type", "agent_start")))
                .isEmpty();
        assertThat(later.read(JSON.createObjectNode().put("type", "agent_settled")))
                .isEqualTo(ended(Outcome.DONE));
        assertThat(later.read(JSON.createObjectNode().put("type", "agent_settled")))
                .isEmpty();
    }

    @Test
    void toolsAreToldInOneLine() {
        assertThat(read("{'type':'tool_execution_start','toolCallId':'c','toolName':'bash','args':{'command':'ls'}}"))
                .contains(new AgentEvent.ToolStarted("c", "bash", "Run ls", Map.of("command", "ls")));
        assertThat(read("{'type':'tool_execution_end','toolCallId':'c','toolName':'bash','isError':true,"
                        + "'result':{'content':[{'type':'text','text':'no '},{'type':'text','text':'such'}]}}"))
                .contains(new AgentEvent.ToolEnded("c", false, "no such"));
    }

    @Test
    void whatIsTooLongIsCut() {
        String command = "x".repeat(100_000);
        AgentEvent.ToolStarted started = (AgentEvent.ToolStarted)
                read("{'type':'tool_execution_start','toolCallId':'c','toolName':'bash','args':{'command':'" + command
                                + "'}}")
                        .orElseThrow();
        assertThat(started.title()).hasSizeLessThan(300);
        assertThat(started.arguments().toString()).hasSizeLessThan(20_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{'type':7}",
                "{'type':'no such thing'}",
                "{'type':'message_update'}",
                "{'type':'message_update','assistantMessageEvent':'x'}",
                "{'type':'message_end','message':[]}",
                "{'type':'message_end','message':{'role':'user'}}",
                "{'type':'agent_settled'}",
                "{'type':'agent_end'}"
            })
    void whatMakesNoSenseMeansNothing(String record) {
        assertThat(read(record)).isEmpty();
        assertThat(records.running()).isFalse();
        assertThat(records.settling()).isFalse();
    }

    @Test
    void copiesOfTheConversationAreNotKept() {
        String record = """
                {"type":"message_update","message":{"role":"assistant","content":[{"text":"all"}],"usage":{"input":1}},
                 "assistantMessageEvent":{"type":"text_delta","delta":"a","partial":{"content":["all"]}},
                 "messages":["all"],"result":{"content":[{"text":"kept"}]}}""";
        try (JsonParser parser = new FilteringParserDelegate(
                JSON.createParser(record), PiRecords.WANTED, TokenFilter.Inclusion.INCLUDE_ALL_AND_PATH, true)) {
            assertThat((Object) JSON.readTree(parser))
                    .hasToString(JSON.readTree("""
                    {"type":"message_update","message":{"role":"assistant","usage":{"input":1}},
                     "assistantMessageEvent":{"type":"text_delta","delta":"a"},
                     "result":{"content":[{"text":"kept"}]}}""").toString());
        }
    }
}
