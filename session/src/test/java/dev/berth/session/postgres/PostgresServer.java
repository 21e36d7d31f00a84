package dev.berth.session.postgres;

import dev.berth.session.TestingPostgres;
import java.nio.file.Path;
import java.sql.DriverManager;

/** A server to be killed: starts PostgreSQL, commits a row, says so, and then does nothing for ever. */
final class PostgresServer {
    private PostgresServer() {}

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws Exception {
        EmbeddedPostgres postgres = EmbeddedPostgres.start(
                TestingPostgres.config(Path.of(args[0])).withSetting("synchronous_commit", "on"));
        try (var connection = DriverManager.getConnection(postgres.jdbcUrl(), postgres.user(), postgres.password());
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS kept (word text)");
            statement.execute("INSERT INTO kept VALUES ('committed')");
        }
        System.out.println("ready " + postgres.handle().pid());
        Thread.sleep(Long.MAX_VALUE);
    }
}
