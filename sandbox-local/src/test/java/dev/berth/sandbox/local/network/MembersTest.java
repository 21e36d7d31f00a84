package dev.berth.sandbox.local.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Network;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.network.Members.Known;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the kernel's rules know of boxes, as it is written and as nft(8) sees it. Needs root and nftables. */
class MembersTest {
    private final String table =
            "berth_test" + Long.toHexString(ThreadLocalRandom.current().nextLong());
    private final Ruleset rules = new Ruleset(table, 4711, 1000);
    private final Members members = new Members(table);

    @BeforeEach
    void makeRules() throws IOException {
        assertThat(members.known()).isEmpty();
        nft(rules.common(List.of(), List.of("127.0.0.1")));
    }

    @AfterEach
    void removeRules() throws IOException {
        nft(rules.nothing());
    }

    private static void nft(String orders) throws IOException {
        HostCommand.run(List.of("nft", "-f", "-"), orders).orThrow();
    }

    private String seen(String... what) throws IOException {
        List<String> argv = new java.util.ArrayList<>(List.of("nft", "list"));
        argv.addAll(List.of(what));
        return HostCommand.run(argv, "").orThrow().replaceAll("\\s+", " ");
    }

    private Known known() throws IOException {
        return members.known().orElseThrow();
    }

    @Test
    void theRulesKnowABoxAsItWasPut() throws IOException {
        members.put(known(), "one234567890", "10.209.1.2", Ruleset.OPEN, new Traffic(7, 11));
        assertThat(known())
                .isEqualTo(new Known(
                        Map.of("berth-one234567", "open"),
                        Map.of("berth-one234567", Set.of("10.209.1.2")),
                        Set.of("berth-one234567"),
                        Map.of("one234567890", new Traffic(7, 11))));
        assertThat(seen("map", "inet", table, "from")).contains("\"berth-one234567\" : goto from-open");
        assertThat(seen("map", "inet", table, "here")).contains("\"berth-one234567\" : goto here-open");
        assertThat(seen("map", "inet", table, "to")).contains("\"berth-one234567\" : goto to-open");
        assertThat(seen("map", "inet", table, "out")).contains("\"berth-one234567\" : \"out-one234567890\"");
        assertThat(seen("map", "inet", table, "in")).contains("\"berth-one234567\" : \"in-one234567890\"");
        assertThat(seen("set", "inet", table, "homes")).contains("\"berth-one234567\" . 10.209.1.2");
        assertThat(seen("set", "inet", table, "addresses")).contains("10.209.1.2");
    }

    @Test
    void whatIsPutAgainIsChangedAndNothingElse() throws IOException {
        members.put(known(), "other2345678", "10.209.9.9", Ruleset.OPEN, Traffic.NONE);
        members.put(known(), "one234567890", "10.209.1.2", Ruleset.OPEN, new Traffic(7, 11));
        nft(rules.chains("one234567890", Network.OPEN.withDeny("8.0.0.0/8"), Traffic.NONE));
        members.put(known(), "one234567890", "10.209.1.3", "one234567890", Traffic.NONE);
        members.put(known(), "one234567890", "10.209.1.3", "one234567890", Traffic.NONE);
        Known changed = known();
        assertThat(changed.chains()).isEqualTo(Map.of("berth-one234567", "one234567890", "berth-other2345", "open"));
        assertThat(changed.addresses())
                .isEqualTo(Map.of("berth-one234567", Set.of("10.209.1.3"), "berth-other2345", Set.of("10.209.9.9")));
        assertThat(changed.used()).containsEntry("one234567890", new Traffic(7, 11));
        assertThat(seen("set", "inet", table, "addresses")).doesNotContain("10.209.1.2");
    }

    @Test
    void aBoxThatIsRemovedLeavesNothing() throws IOException {
        members.put(known(), "one234567890", "10.209.1.2", Ruleset.OPEN, Traffic.NONE);
        members.put(known(), "other2345678", "10.209.9.9", Ruleset.OPEN, Traffic.NONE);
        Known before = known();
        List<String> gone = List.of("one234567890", "nobody456789", "other2345678");
        members.remove(before, gone);
        members.forgetUse(before, gone);
        assertThat(known()).isEqualTo(Known.NOBODY);
        assertThat(seen("set", "inet", table, "addresses")).doesNotContain("10.209");
    }

    @Test
    void whatIsRefusedInPartIsNotDoneAtAll() throws IOException {
        assertThatThrownBy(() -> members.put(known(), "one234567890", "10.209.1.2", "nobody456789", Traffic.NONE))
                .isInstanceOfSatisfying(
                        ErrnoException.class, e -> assertThat(e.errno()).isEqualTo(ErrnoException.ENOENT));
        assertThat(known()).isEqualTo(Known.NOBODY);
    }

    @Test
    void hundredsOfBoxesAreReadWhole() throws IOException {
        for (int i = 0; i < 600; i++) {
            // The first nine characters are what links are told from one another by.
            members.put(
                    known(),
                    "b%08d234".formatted(i),
                    "10.209.%d.%d".formatted(i / 250, i % 250 + 1),
                    "open",
                    Traffic.NONE);
        }
        Known all = known();
        assertThat(all.chains()).hasSize(600);
        assertThat(all.addresses()).hasSize(600);
        assertThat(all.used()).hasSize(600);
    }
}
