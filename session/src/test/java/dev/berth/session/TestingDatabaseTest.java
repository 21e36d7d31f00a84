package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** That the fixtures of the other tests do what these rely on. */
class TestingDatabaseTest {
    @Test
    void givesEveryTestAnEmptyDatabaseAndRemovesItUnderItsUsers() throws Exception {
        TestingDatabase one = TestingDatabase.create();
        try (TestingDatabase other = TestingDatabase.create();
                var connection = one.connect();
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE mine ()");
            assertThat(other.url()).isNotEqualTo(one.url());
            try (var there = other.connect();
                    var tables = there.getMetaData().getTables(null, "public", "%", null)) {
                assertThat(tables.next()).isFalse();
            }
            one.close();
            assertThatThrownBy(one::connect)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("3D000"));
        }
    }

    @Test
    void goesAwayAndComesBackAtTheSameAddress() throws Exception {
        try (TestingPostgres postgres = TestingPostgres.start()) {
            String url = postgres.url();
            DriverManager.getConnection(url).close();
            postgres.stop();
            assertThatThrownBy(() -> DriverManager.getConnection(url))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08001"));
            postgres.startAgain();
            DriverManager.getConnection(url).close();
            assertThat(postgres.url()).isEqualTo(url);
        }
    }
}
