package dev.berth.gateway.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.config.SandboxConfigs.Stored;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What is remembered of configurations between calls. */
class SandboxConfigsTest {
    private static final SessionKey SESSION = SessionKey.of("acme", "s");

    private static TestingDatabase postgres;
    private static Database database;

    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-01-01T00:00:00Z"));
    private final SandboxConfigs configs = open();
    /** On the same database. */
    private final SandboxConfigs elsewhere = open();

    @BeforeAll
    static void start() {
        postgres = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(postgres.url()));
        database.query(handle -> handle.execute("INSERT INTO tenants (id) VALUES ('acme')"));
    }

    @AfterAll
    static void stop() {
        database.close();
        postgres.close();
    }

    private SandboxConfigs open() {
        return new SandboxConfigs(database, new Sealer(new byte[32]), now::get);
    }

    private void pass(Duration time) {
        now.updateAndGet(instant -> instant.plus(time));
    }

    private static ObjectNode timeout(int seconds) {
        return JsonMapper.builder().build().createObjectNode().put("timeout", seconds);
    }

    private @Nullable Integer timeoutInUse(String name) {
        return configs.inUse("acme", name).config().timeout();
    }

    @Test
    void aChangeElsewhereIsSeenAfterSomeSecondsAndOneHereAtOnce() {
        Stored made = configs.make("acme", "changed", null, timeout(1));
        assertThat(timeoutInUse("changed")).isEqualTo(1);

        Stored there = elsewhere.change(made, "changed", null, timeout(2));
        assertThat(timeoutInUse("changed")).isEqualTo(1);
        pass(Duration.ofSeconds(6));
        assertThat(timeoutInUse("changed")).isEqualTo(2);

        configs.change(there, "renamed", null, timeout(3));
        assertThat(timeoutInUse("renamed")).isEqualTo(3);
        assertThat(timeoutInUse(made.id())).isEqualTo(3);
        assertThatThrownBy(() -> timeoutInUse("changed")).isInstanceOf(SandboxException.class);
    }

    @Test
    void whatIsRemovedIsNotRemembered() {
        Stored made = configs.make("acme", "removed", null, timeout(1));
        assertThat(timeoutInUse("removed")).isEqualTo(1);
        configs.delete(made);
        assertThatThrownBy(() -> timeoutInUse("removed")).isInstanceOf(SandboxException.class);
    }

    @Test
    void anotherTenantsIsNotRememberedForThisOne() {
        configs.make("acme", "own", null, timeout(1));
        assertThat(timeoutInUse("own")).isEqualTo(1);
        assertThatThrownBy(() -> configs.inUse("rival", "own")).isInstanceOf(SandboxException.class);
    }

    @Test
    void aUseIsWrittenOncePerMinuteForEachSession() {
        Stored made = configs.make("acme", "used", null, timeout(1));
        SessionKey other = SessionKey.of("acme", "other");
        configs.used(made, SESSION);
        configs.used(made, other);
        assertThat(configs.sessions(made)).containsExactlyInAnyOrder(SESSION, other);

        database.query(handle -> handle.execute("DELETE FROM config_sessions WHERE config = ?", made.id()));
        configs.used(made, SESSION);
        assertThat(configs.sessions(made)).isEmpty();
        pass(Duration.ofSeconds(61));
        configs.used(made, SESSION);
        assertThat(configs.sessions(made)).containsExactly(SESSION);
    }

    @Test
    void whatWasRemovedElsewhereMakesNoMoreSessions() {
        Stored made = configs.make("acme", "gone", null, timeout(1));
        assertThat(timeoutInUse("gone")).isEqualTo(1);
        elsewhere.delete(made);
        assertThatThrownBy(() -> configs.used(made, SESSION))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("no such sandbox configuration");
        assertThatThrownBy(() -> timeoutInUse("gone")).isInstanceOf(SandboxException.class);
    }
}
