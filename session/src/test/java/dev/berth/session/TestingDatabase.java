package dev.berth.session;

import dev.berth.session.postgres.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;

/**
 * An empty database of a test's own, in a PostgreSQL that all tests of this process share. It is quick, and forgets what
 * it was told when the machine loses power.
 */
public final class TestingDatabase implements AutoCloseable {
    /** Started by the first test that wants it; stopped and removed when the process ends. */
    private static final class Shared {
        private static final TestingPostgres POSTGRES = start();

        private static TestingPostgres start() {
            TestingPostgres postgres = TestingPostgres.start();
            Runtime.getRuntime().addShutdownHook(new Thread(postgres::close, "stop the tests' PostgreSQL"));
            return postgres;
        }
    }

    private final String name;

    private TestingDatabase(String name) {
        this.name = name;
    }

    public static TestingDatabase create() {
        TestingDatabase database =
                new TestingDatabase("test_" + UUID.randomUUID().toString().replace("-", ""));
        execute("CREATE DATABASE " + database.name);
        return database;
    }

    /** With user and password, for JDBC. */
    public String url() {
        return Shared.POSTGRES.url(name);
    }

    public Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    @Override
    public void close() {
        execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    }

    private static void execute(String sql) {
        EmbeddedPostgres postgres = Shared.POSTGRES.running();
        try (Connection connection =
                        DriverManager.getConnection(postgres.jdbcUrl(), postgres.user(), postgres.password());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new AssertionError("could not " + sql, e);
        }
    }
}
