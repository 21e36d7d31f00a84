package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Piece;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.e2b.Egress.Asked;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.secret.Secrets;
import dev.berth.gateway.secret.SessionSecrets;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.node.ObjectNode;

/** What E2B's clients say of a network, and the network that it is. */
class EgressTest {
    private static final SessionKey SESSION = SessionKey.of("acme", "i1");
    private static final Caller OWNER = new Caller("owner", "acme", false, Scope.ALL);
    private static final Caller AGENT = new Caller("agent", "acme", false, Set.of(Scope.TOOLS));

    private static TestingDatabase postgres;
    private static Database database;
    private static Secrets secrets;
    private static TransformTable table;

    @BeforeAll
    static void open() {
        postgres = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(postgres.url()));
        Sealer sealer = new Sealer(new byte[32]);
        secrets = new Secrets(database, sealer, List.of(), InstantSource.system());
        table = new TransformTable(database, sealer);
        database.query(handle -> handle.execute("INSERT INTO tenants (id) VALUES ('acme') ON CONFLICT DO NOTHING"));
        secrets.make("acme", "openai-api-key", "sk-value", Map.of());
    }

    @AfterAll
    static void close() {
        database.close();
        postgres.close();
    }

    private static Egress egress(Set<Capability> capabilities, boolean internet) {
        Networks networks = new Networks("local", capabilities, new SessionSecrets(secrets), Optional.empty());
        return new Egress(networks, capabilities, internet, new Transforms(table, secrets));
    }

    private static Asked create(String body) {
        return egress(EnumSet.allOf(Capability.class), true).create(OWNER, json(body));
    }

    private static ObjectNode json(String body) {
        return (ObjectNode) Json.MAPPER.readTree(body.replace('\'', '"'));
    }

    private static String refused(String body) {
        E2bError error = catchThrowableOfType(E2bError.class, () -> create(body));
        assertThat(error.status()).isEqualTo(400);
        return String.valueOf(error.getMessage());
    }

    private static Network restricted(Rule... rules) {
        return new Network(Mode.RESTRICTED, List.of(rules), List.of(), Caps.DEFAULT);
    }

    @Test
    void whereNobodySaysWhatIsPublicIsReachedAsFarAsThereIsSuchANetwork() {
        Set<Capability> fewer = EnumSet.complementOf(EnumSet.of(Capability.OPEN_NETWORK));
        assertThat(create("{}").network()).isEqualTo(Network.OPEN);
        assertThat(create("{'network': {'allowPublicTraffic': false}}").network())
                .isEqualTo(Network.OPEN);
        assertThat(egress(fewer, true).create(OWNER, json("{}")).network()).isEqualTo(Network.NONE);
        assertThat(egress(EnumSet.allOf(Capability.class), false)
                        .create(OWNER, json("{}"))
                        .network())
                .isEqualTo(Network.NONE);
        SandboxException error = catchThrowableOfType(
                SandboxException.class,
                () -> egress(fewer, true).create(OWNER, json("{'allow_internet_access': true}")));
        assertThat(error.code()).isEqualTo(ErrorCode.UNSUPPORTED);
    }

    @Test
    void aSandboxWithoutInternetReachesNothingButWhatIsAllowed() {
        assertThat(create("{'allow_internet_access': false}").network()).isEqualTo(Network.NONE);
        assertThat(create("{'network': {'denyOut': ['0.0.0.0/0']}}").network()).isEqualTo(Network.NONE);
        assertThat(create("{'network': {'denyOut': ['ALL_TRAFFIC']}}").network())
                .isEqualTo(Network.NONE);
        assertThat(create("{'allow_internet_access': false, 'network': {'allowOut': ['1.1.1.1']}}")
                        .network())
                .isEqualTo(restricted(Rule.to("1.1.1.1/32").withEveryPort()));
        assertThat(create(
                                "{'network': {'denyOut': ['0.0.0.0/0'],"
                                        + " 'allowOut': ['Example.com', '*.example.org', 'a.example.org', '8.8.8.9/24', '8.8.8.8']}}")
                        .network())
                .isEqualTo(restricted(
                        Rule.to("example.com"),
                        Rule.to("*.example.org"),
                        Rule.to("8.8.8.0/24").withEveryPort()));
    }

    @Test
    void whatIsDeniedBesideTheRestIsClosedAndWhatIsAllowedInItIsOpen() {
        assertThat(create("{'network': {'denyOut': ['8.8.8.8']}}").network())
                .isEqualTo(Network.OPEN.withDeny("8.8.8.8", "::/0"));
        assertThat(create("{'network': {'denyOut': ['8.0.0.0/8'], 'allowOut': ['8.8.8.8']}}")
                        .network())
                .isEqualTo(new Network(
                        Mode.OPEN,
                        List.of(Rule.to("8.8.8.8").withEveryPort()),
                        List.of("8.0.0.0/8", "::/0"),
                        List.of(),
                        Caps.DEFAULT));
        assertThat(create("{'network': {'denyOut': ['0.0.0.0/0'], 'allowOut': ['0.0.0.0/0']}}")
                        .network())
                .as("what is allowed goes first, and never means what is not public")
                .isEqualTo(Network.OPEN);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'network': {'allowOut': ['example.com']}} | you must include 'ALL_TRAFFIC' in deny out",
                "{'network': {'denyOut': ['example.com']}} | invalid denied CIDR example.com",
                "{'network': {'denyOut': ['not a range/8']}} | invalid deny out entry",
                "{'network': {'denyOut': ['1.2.3.4/40']}} | invalid deny out entry",
                "{'network': {'allowOut': ['8.8.8.8:80']}} | port-specific rules are not supported",
                "{'network': {'allowOut': ['128.0.0.0/1']}} | takes in addresses that are not public",
                "{'network': {'allowOut': 'x'}} | network.allowOut must be a list",
                "{'network': {'allowOut': [1]}} | network.allowOut must be a list",
                "{'network': 7} | network must be an object",
                "{'allow_internet_access': 'no'} | allow_internet_access must be true or false",
                "{'network': {'egressProxy': {'address': 'a:1080'}}} | egressProxy is not supported",
                "{'network': {'httpsPorts': [3000]}} | httpsPorts is not supported",
                "{'network': {'rules': {'10.0.0.1': []}}} | is not a domain",
                "{'network': {'rules': {'*.a.b': [], 'c.a.b': []}}} | are for the same hosts",
                "{'network': {'rules': {'a.b': [{}, {}]}}} | at most 1 rule",
                "{'network': {'rules': {'a.b': [{'transform': {'headers': {'Host': 'x'}}}]}}} | not a header",
                "{'network': {'rules': {'a.b': [{'transform': {'headers': {'X': 7}}}]}}} | printable",
                "{'network': {'rules': {'a.b': [{'transform': {'headers': {'X': '${e2b.secrets.no}'}}}]}}} | no secret",
                "{'network': {'rules': {'a.b': [{'transform': {'headers': {'X': '${e2b.identity.tokens.t}'}}}]}}} | iam",
            })
    void whatCannotBeHadIsRefusedWithASentence(String body, String why) {
        assertThat(refused(body)).contains(why);
    }

    @Test
    void anUpdateTakesThePlaceOfTheWayOutAndLeavesTheWayIn() {
        Egress egress = egress(EnumSet.allOf(Capability.class), true);
        Asked before = egress.create(
                OWNER,
                json("{'network': {'allowPublicTraffic': false, 'denyOut': ['1.1.1.1'], 'maskRequestHost': 'a'}}"));
        Asked after =
                egress.update(OWNER, before.given(), json("{'allowOut': ['2.2.2.2'], 'allow_internet_access': false}"));
        assertThat(after.given().orElseThrow())
                .isEqualTo(json("{'allowPublicTraffic': false, 'maskRequestHost': 'a', 'allowOut': ['2.2.2.2']}"));
        assertThat(after.internet()).contains(false);
        assertThat(after.network()).isEqualTo(restricted(Rule.to("2.2.2.2").withEveryPort()));
        assertThat(egress.update(OWNER, after.given(), json("{}")).network()).isEqualTo(Network.OPEN);
    }

    @Test
    void headersAreKeptSealedAndBoundToTheirHostsAlone() {
        String body =
                "{'network': {'denyOut': ['0.0.0.0/0'], 'allowOut': ['api.openai.com'], 'rules': {'api.openai.com':"
                        + " [{'transform': {'headers': {'Authorization': 'Bearer ${e2b.secrets.openai-api-key}', 'X-Tag': 'plain'}}}]}}}";
        Egress egress = egress(EnumSet.allOf(Capability.class), true);
        Asked asked = egress.create(OWNER, json(body));
        String name = asked.network().secrets().getLast();
        assertThat(asked.network().secrets()).hasSize(2).first().isEqualTo("e2b/rules");
        assertThat(asked.network().mode()).isEqualTo(Mode.RESTRICTED);
        assertThat(asked.given().orElseThrow().toString()).doesNotContain("plain");
        egress.keep(SESSION, asked);

        TransformBook book = new TransformBook(new SessionSecrets(secrets), table, secrets, new SecureRandom());
        List<Binding> bindings = book.bindings(SESSION, asked.network().secrets());
        assertThat(bindings)
                .extracting(Binding::place)
                .containsExactly(
                        new Place.Set("Authorization", List.of(new Piece("Bearer ", false), new Piece(name, true))),
                        new Place.Set("X-Tag", List.of(new Piece("plain", false))));
        assertThat(bindings).noneMatch(Binding::opens);
        assertThat(book.reveal(SESSION, name)).contains("sk-value");
        assertThat(book.env(SESSION, asked.network().secrets())).isEmpty();
        assertThat(egress.shown(OWNER, SESSION, asked.given().orElseThrow()))
                .isEqualTo(json(body).path("network"));
        assertThat(egress.shown(AGENT, SESSION, asked.given().orElseThrow()).toString())
                .contains("\"X-Tag\":\"\"")
                .doesNotContain("plain");
        byte[] sealed =
                database.query(handle -> handle.createQuery("SELECT rules_sealed FROM e2b_rules WHERE session = 'i1'")
                        .mapTo(byte[].class)
                        .one());
        String stored = new String(sealed, StandardCharsets.ISO_8859_1);
        assertThat(stored).doesNotContain("plain", "openai");

        egress.copy(SESSION, SessionKey.of("acme", "i2"));
        assertThat(book.bindings(SessionKey.of("acme", "i2"), List.of("e2b/rules")))
                .hasSize(2);
        assertThat(book.bindings(SessionKey.of("other", "i1"), List.of("e2b/rules")))
                .isEmpty();
        egress.keep(SESSION, egress.update(OWNER, asked.given(), json("{}")));
        assertThat(book.bindings(SESSION, List.of("e2b/rules"))).isEmpty();
    }

    @Test
    void whoMayNotSetSecretsMayNotSayWhereTheyGo() {
        String rules = "{'network': {'rules': {'evil.example': [{'transform': {'headers': {'X': '%s'}}}]}}}";
        Egress egress = egress(EnumSet.allOf(Capability.class), true);
        SandboxException error = catchThrowableOfType(
                SandboxException.class,
                () -> egress.create(AGENT, json(rules.formatted("${e2b.secrets.openai-api-key}"))));
        assertThat(error.code()).isEqualTo(ErrorCode.DENIED);
        assertThat(egress.create(AGENT, json(rules.formatted("my own"))).headers())
                .hasSize(1);
    }
}
