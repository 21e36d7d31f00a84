package dev.berth.gateway.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.gateway.config.Resealing;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.secret.SecretBinding.Basic;
import dev.berth.gateway.secret.SecretBinding.Header;
import dev.berth.gateway.secret.SecretBinding.Query;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Needs PostgreSQL. */
class SecretsTest {
    private static final SessionKey SESSION = SessionKey.of("acme", "s");
    private static final byte[] KEY = new byte[32];

    private static TestingDatabase postgres;
    private static Database database;

    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-01-01T00:00:00Z"));
    private final Secrets secrets = open(new Sealer(KEY));

    @BeforeAll
    static void start() {
        postgres = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(postgres.url()));
        database.query(handle -> handle.execute("INSERT INTO tenants (id) VALUES ('acme'), ('rival')"));
    }

    @AfterAll
    static void stop() {
        database.close();
        postgres.close();
    }

    @BeforeEach
    void empty() {
        database.query(handle -> handle.execute("TRUNCATE secrets, server_secrets"));
    }

    private Secrets open(Sealer sealer) {
        return new Secrets(database, sealer, List.of(Domain.of("plain.example")), now::get);
    }

    private static SecretBinding to(String... hosts) {
        return new SecretBinding(List.of(hosts), null, null, null, null, null, null, null);
    }

    private static Secret.Change change(@Nullable String value, SecretBinding... bindings) {
        return new Secret.Change(value, bindings.length == 0 ? null : List.of(bindings), null, null);
    }

    private static List<String> problems(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        AtomicReference<List<String>> problems = new AtomicReference<>(List.of());
        assertThatThrownBy(call)
                .asInstanceOf(type(SandboxException.class))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .satisfies(e -> problems.set(((List<?>) e.details().getOrDefault("errors", List.of()))
                        .stream().map(String::valueOf).toList()));
        return problems.get();
    }

    @Test
    void aValueIsOpenedForWhoeverNamesItsTenantAndIsNotInTheDatabase() {
        assertThat(secrets.put("acme", "TOKEN", change("s3cret-value", to("api.example")))
                        .made())
                .isTrue();
        assertThat(secrets.reveal("acme", "TOKEN")).contains("s3cret-value");
        assertThat(secrets.reveal("rival", "TOKEN")).isEmpty();
        List<String> rows = database.query(
                handle -> handle.createQuery("SELECT secrets::text || encode(value_sealed, 'escape') FROM secrets")
                        .mapTo(String.class)
                        .list());
        assertThat(rows).hasSize(1).noneMatch(row -> row.contains("s3cret-value"));
    }

    @Test
    void aRowThatIsMovedToAnotherTenantOrNameDoesNotOpen() {
        secrets.put("acme", "TOKEN", change("s3cret-value"));
        database.query(handle -> handle.execute("UPDATE secrets SET tenant = 'rival'"));
        assertThatThrownBy(() -> secrets.reveal("rival", "TOKEN")).isInstanceOf(SandboxException.class);
        database.query(handle -> handle.execute("UPDATE secrets SET tenant = 'acme', name = 'OTHER'"));
        assertThatThrownBy(() -> secrets.reveal("acme", "OTHER")).isInstanceOf(SandboxException.class);
    }

    @Test
    void whatAChangeLeavesOutStays() {
        secrets.put("acme", "TOKEN", new Secret.Change("first", List.of(to("api.example")), "API_TOKEN", "sk-"));
        assertThat(secrets.put("acme", "TOKEN", change("second")).made()).isFalse();
        secrets.put("acme", "TOKEN", change(null, to("*.other.example")));
        Secret secret = secrets.get("acme", "TOKEN");
        assertThat(secret.env()).isEqualTo("API_TOKEN");
        assertThat(secret.prefix()).isEqualTo("sk-");
        assertThat(secret.bindings()).hasSize(1);
        assertThat(secret.bindings().getFirst().hosts()).containsExactly("*.other.example");
        assertThat(secrets.reveal("acme", "TOKEN")).contains("second");
    }

    @Test
    void aNewOneNeedsAValueAndATenantThatIsThere() {
        assertThatThrownBy(() -> secrets.put("acme", "TOKEN", change(null, to("api.example"))))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("give its value");
        assertThatThrownBy(() -> secrets.put("nobody", "TOKEN", change("v")))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("no tenant nobody");
    }

    @Test
    void everythingThatIsWrongIsToldAtOnceAndNeverTheValue() {
        SecretBinding wrong = new SecretBinding(
                List.of("10.0.0.0/8", "a*b", "good.example", "127.0.0.1"),
                List.of(443, 70_000),
                List.of("get"),
                List.of("v1", "/ok"),
                new Header("Host", "Bearer"),
                new Basic("a:b"),
                new Query("a&b"),
                true);
        List<String> problems =
                problems(() -> secrets.put("acme", "TOKEN", change("two\nlines-of-it", wrong, to("fine.example"))));
        assertThat(problems)
                .hasSize(13)
                .noneMatch(problem -> problem.contains("lines-of-it"))
                .anyMatch(problem -> problem.startsWith("value: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].hosts[0]: '10.0.0.0/8' is an address"))
                .anyMatch(problem -> problem.startsWith("bindings[0].hosts[1]: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].hosts[2]: the operator does not let"))
                .anyMatch(problem -> problem.startsWith("bindings[0].hosts[3]: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].ports[1]: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].methods[0]: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].paths[0]: "))
                .anyMatch(problem -> problem.startsWith("bindings[0]: take one of"))
                .anyMatch(problem -> problem.startsWith("bindings[0].header.name: Host is not for secrets"))
                .anyMatch(problem -> problem.startsWith("bindings[0].header.value: has to have {}"))
                .anyMatch(problem -> problem.startsWith("bindings[0].basic.user: "))
                .anyMatch(problem -> problem.startsWith("bindings[0].query.name: "));
        assertThat(secrets.list("acme")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a\rb", "a\nb", "a\u0000b", "end\n", "\ud800", "caf\u00e9", " padded", "tab\there"})
    void aValueThatCannotStandInAHeaderIsRefused(String value) {
        assertThat(problems(() -> secrets.put("acme", "TOKEN", change(value, to("api.example")))))
                .singleElement()
                .asString()
                .startsWith("value: ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PATH", "LD_PRELOAD", "https_proxy", "HOME"})
    void aVariableThatProgramsNeedIsNotTaken(String variable) {
        assertThat(problems(() -> secrets.put("acme", "TOKEN", new Secret.Change("v", null, variable, null))))
                .singleElement()
                .asString()
                .startsWith("env: " + variable);
        assertThat(problems(() -> secrets.put("acme", variable, change("v")))).hasSize(1);
    }

    @Test
    void aValueThatIsFineElsewhereIsRefusedWhenItComesToGoIntoAHeader() {
        SecretBinding basic =
                new SecretBinding(List.of("api.example"), null, null, null, null, new Basic("me"), null, null);
        secrets.put("acme", "TOKEN", change("caf\u00e9", basic));
        assertThat(problems(() -> secrets.put("acme", "TOKEN", change(null, to("api.example")))))
                .singleElement()
                .asString()
                .startsWith("value: goes into a header")
                .doesNotContain("caf");
    }

    @Test
    void aValueHasUpTo64KiB() {
        secrets.put("acme", "TOKEN", change("x".repeat(64 << 10)));
        assertThat(problems(() -> secrets.put("acme", "TOKEN", change("x".repeat((64 << 10) + 1)))))
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Host",
                "content-length",
                "Transfer-Encoding",
                "Connection",
                "TE",
                "Upgrade",
                "Proxy-Authorization",
                "Accept-Encoding",
                ":authority",
                "Two Words",
                "X-A\r\nX-B",
                ""
            })
    void headersThatSayHowARequestTravelsAndWhatIsNoHeaderAreRefused(String name) {
        SecretBinding binding =
                new SecretBinding(List.of("api.example"), null, null, null, new Header(name, "{}"), null, null, null);
        assertThat(problems(() -> secrets.put("acme", "TOKEN", change("v", binding))))
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Bearer", "{}{}", "{} {}", "Bearer {}\r\nX-Evil: 1", " {}", "{}\u0000", "\u00e9{}"})
    void aTemplateHasOnePlaceForTheSecretAndStaysOnItsLine(String template) {
        SecretBinding binding = new SecretBinding(
                List.of("api.example"), null, null, null, new Header("X-Key", template), null, null, null);
        assertThat(problems(() -> secrets.put("acme", "TOKEN", change("v", binding))))
                .hasSize(1);
    }

    @Test
    void bindingsAreAsTheWayOutNeedsThem() {
        secrets.put(
                "acme",
                "A",
                change(
                        "v",
                        to("API.Example", "*.api.example", "api.example."),
                        new SecretBinding(
                                List.of("plain.example"),
                                null,
                                List.of("GET"),
                                List.of("/v1/*"),
                                null,
                                new Basic("me"),
                                null,
                                true)));
        secrets.put(
                "acme",
                "B",
                change(
                        "w",
                        new SecretBinding(
                                List.of("b.example"), List.of(8443), null, null, null, null, new Query("key"), null)));
        List<Binding> bindings = secrets.bindings(SESSION, List.of("B", "A", "GONE"));
        assertThat(bindings).extracting(Binding::secret).containsExactly("B", "A", "A");
        assertThat(bindings.get(0).place()).isEqualTo(new Place.Query("key"));
        assertThat(bindings.get(0).ports()).containsExactly(8443);
        assertThat(bindings.get(1).hosts())
                .containsExactly(new Domain("api.example", false), new Domain("api.example", true));
        assertThat(bindings.get(1).place()).isEqualTo(new Place.Header("Authorization", "Bearer {}"));
        assertThat(bindings.get(1).ports()).containsExactly(443);
        assertThat(bindings.get(1).plain()).isFalse();
        assertThat(bindings.get(2).place()).isEqualTo(new Place.Basic("me"));
        assertThat(bindings.get(2).ports()).containsExactly(80, 443);
        assertThat(bindings.get(2).methods()).containsExactly("GET");
        assertThat(bindings.get(2).paths()).containsExactly("/v1/*");
        assertThat(bindings.get(2).plain()).isTrue();
        assertThat(bindings.get(1).placeholder()).isEqualTo(bindings.get(2).placeholder());
        assertThat(secrets.env(SESSION, List.of("A", "B", "GONE")))
                .isEqualTo(Map.of(
                        "A", bindings.get(1).placeholder(), "B", bindings.get(0).placeholder()));
        assertThat(secrets.bindings(SessionKey.of("rival", "s"), List.of("A", "B")))
                .isEmpty();
    }

    @Test
    void aHostThatTheOperatorMarksNoMoreGetsNothingWithoutTls() {
        SecretBinding plain = new SecretBinding(List.of("plain.example"), null, null, null, null, null, null, true);
        secrets.put("acme", "A", change("v", plain));
        assertThat(secrets.bindings(SESSION, List.of("A")).getFirst().plain()).isTrue();
        Secrets stricter = new Secrets(database, new Sealer(KEY), List.of(), now::get);
        assertThat(stricter.bindings(SESSION, List.of("A")).getFirst().plain()).isFalse();
    }

    @Test
    void whatIsRemovedIsGoneForTheNextRequest() {
        secrets.put("acme", "TOKEN", change("v", to("api.example")));
        open(new Sealer(KEY)).remove("acme", "TOKEN");
        assertThat(secrets.reveal("acme", "TOKEN")).isEmpty();
        assertThat(secrets.bindings(SESSION, List.of("TOKEN"))).isEmpty();
        assertThatThrownBy(() -> secrets.remove("acme", "TOKEN")).hasMessage("there is no secret TOKEN");
        assertThatThrownBy(() -> secrets.get("acme", "TOKEN")).hasMessage("there is no secret TOKEN");
    }

    @Test
    void aSessionCannotHaveUnknownSecretsNorTwoForOneVariable() {
        secrets.put("acme", "A", new Secret.Change("v", null, "KEY", null));
        secrets.put("acme", "B", new Secret.Change("v", null, "KEY", null));
        secrets.check("acme", List.of("A"));
        assertThat(problems(() -> secrets.check("acme", List.of("A", "B", "C", "D"))))
                .hasSize(3)
                .anyMatch(problem -> problem.contains("A and B are both for the variable KEY"))
                .anyMatch(problem -> problem.contains("no secret 'C'"))
                .anyMatch(problem -> problem.contains("no secret 'D'"));
        assertThat(problems(() -> secrets.check("rival", List.of("A")))).hasSize(1);
    }

    @Test
    void usesAreCountedTogetherByAllServers() {
        secrets.put("acme", "TOKEN", change("v"));
        assertThat(secrets.get("acme", "TOKEN").lastUsedAt()).isEmpty();
        Secrets elsewhere = open(new Sealer(KEY));
        secrets.used("acme", "TOKEN");
        secrets.used("acme", "TOKEN");
        secrets.used("acme", "GONE");
        now.updateAndGet(time -> time.minusSeconds(60));
        elsewhere.used("acme", "TOKEN");
        secrets.writeUses();
        elsewhere.writeUses();
        Secret used = secrets.list("acme").getFirst();
        assertThat(used.uses()).isEqualTo(3);
        assertThat(used.lastUsedAt()).contains(Instant.parse("2026-01-01T00:00:00Z"));
    }

    @Test
    void placeholdersAndValuesSurviveAChangeOfTheSealingKey() {
        byte[] next = new byte[32];
        Arrays.fill(next, (byte) 7);
        secrets.put("acme", "TOKEN", change("v", to("api.example")));
        Map<String, String> before = secrets.env(SESSION, List.of("TOKEN"));

        Resealing.Done done = new Resealing(database, new Sealer(List.of(next, KEY)), Secrets.SEALED).run();

        assertThat(done).isEqualTo(new Resealing.Done(2, 0));
        Secrets after = open(new Sealer(next));
        assertThat(after.reveal("acme", "TOKEN")).contains("v");
        assertThat(after.env(SESSION, List.of("TOKEN"))).isEqualTo(before);
        assertThatThrownBy(() -> open(new Sealer(KEY)).reveal("acme", "TOKEN"))
                .hasMessageContaining("put that key back");
        assertThat(new Resealing(database, new Sealer(next), Secrets.SEALED).run())
                .isEqualTo(new Resealing.Done(0, 0));
    }

    @Test
    void whatNoKeyOpensIsPassedOverAndCounted() {
        byte[] next = new byte[32];
        Arrays.fill(next, (byte) 7);
        for (int i = 0; i < 450; i++) {
            secrets.put("acme", "S" + i, change("v"));
        }
        database.query(handle ->
                handle.execute("UPDATE secrets SET value_sealed = '\\x0100' WHERE name LIKE 'S2%' OR name = 'S449'"));
        Resealing.Done done = new Resealing(database, new Sealer(List.of(next, KEY)), Secrets.SEALED).run();
        assertThat(done).isEqualTo(new Resealing.Done(450 - 112, 112));
        assertThat(open(new Sealer(next)).reveal("acme", "S399")).contains("v");
    }
}
