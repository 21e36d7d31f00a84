package dev.berth.gateway.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.session.SessionKey;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import org.jdbi.v3.core.JdbiException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TrafficTest {
    private static TestingDatabase postgres;
    private static Database database;

    @BeforeAll
    static void start() {
        postgres = TestingDatabase.create();
        database = Database.open(DatabaseConfig.parse(postgres.url()));
    }

    @AfterAll
    static void stop() {
        database.close();
        postgres.close();
    }

    @Test
    void whatWasCarriedIsKnownToTheNextServerAndTheOneBeside() {
        SessionKey session = SessionKey.of("default", "kept");
        Traffic here = new Traffic(database);
        Traffic beside = new Traffic(database);
        assertThat(here.carried(session)).isZero();
        here.add(session, 1, 10);
        here.add(session, 2, 20);
        assertThat(here.carried(session)).isEqualTo(33);
        assertThat(beside.carried(session)).isZero();
        beside.add(session, 100, 0);
        beside.flush();
        here.flush();
        here.flush();
        here.add(session, 1, 0);
        assertThat(here.carried(session)).isEqualTo(134);
        assertThat(new Traffic(database).carried(session)).isEqualTo(133);
        assertThat(here.carried(SessionKey.of("default", "other"))).isZero();
    }

    @Test
    void whatCouldNotBeWrittenIsNotLost() {
        SessionKey nobodys = SessionKey.of("a-tenant-to-come", "s");
        Traffic traffic = new Traffic(database);
        traffic.add(nobodys, 5, 5);
        assertThatThrownBy(traffic::flush).isInstanceOf(JdbiException.class);
        database.query(handle -> handle.execute("INSERT INTO tenants (id) VALUES ('a-tenant-to-come')"));
        traffic.flush();
        assertThat(new Traffic(database).carried(nobodys)).isEqualTo(10);
    }
}
