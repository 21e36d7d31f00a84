package dev.berth.session.store;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.jdbi.v3.core.statement.StatementExceptions;

/**
 * The connections to PostgreSQL.
 *
 * <p>There are two pools. One is for transitions: each keeps one connection from its first statement to its last, perhaps
 * for minutes, because the advisory lock of the session lives on it. The other is for everything that is over at once. So
 * a hundred slow transitions cannot keep a list from being read, and nothing that holds a connection ever waits for
 * another one.
 */
public final class Database implements AutoCloseable {
    private static final Duration CONNECT = Duration.ofSeconds(5);
    private static final int VALIDATION_SECONDS = 3;

    private final DatabaseConfig config;
    private final HikariDataSource transitions;
    private final HikariDataSource queries;
    private final Jdbi pinned;
    private final Jdbi jdbi;
    /** Waiting here, and not in the pool, tells many transitions at a time from a database that is down. */
    private final Semaphore permits;

    private Database(DatabaseConfig config, HikariDataSource transitions, HikariDataSource queries) {
        this.config = config;
        this.transitions = transitions;
        this.queries = queries;
        this.pinned = jdbi(transitions);
        this.jdbi = jdbi(queries);
        this.permits = new Semaphore(config.transitions(), true);
    }

    private static Jdbi jdbi(HikariDataSource pool) {
        Jdbi jdbi = Jdbi.create(() -> fresh(pool));
        // Failures are logged, and what was bound to a statement may be secret.
        jdbi.getConfig(StatementExceptions.class).setMessageRendering(StatementExceptions.MessageRendering.NONE);
        return jdbi;
    }

    /**
     * A connection that answers. After a restart of the database the pool is full of dead ones, which it would hand out
     * one by one; a request should not fail because of something that is over.
     */
    private static Connection fresh(HikariDataSource pool) throws SQLException {
        for (int left = pool.getMaximumPoolSize(); left > 0; left--) {
            Connection connection = pool.getConnection();
            if (connection.isValid(VALIDATION_SECONDS)) {
                return connection;
            }
            pool.evictConnection(connection);
        }
        return pool.getConnection();
    }

    /** Connects and brings the tables up to date. */
    public static Database open(DatabaseConfig config) {
        HikariDataSource queries = pool("queries", config, config.queries());
        try {
            migrate(queries);
            return new Database(config, pool("transitions", config, config.transitions()), queries);
        } catch (FlywayException e) {
            queries.close();
            throw SandboxException.unavailable(
                    "could not bring the database " + config + " up to date: " + reason(e), e);
        }
    }

    private static HikariDataSource pool(String name, DatabaseConfig config, int size) {
        HikariConfig hikari = new HikariConfig();
        hikari.setPoolName(name);
        hikari.setJdbcUrl(config.jdbcUrl());
        config.user().ifPresent(hikari::setUsername);
        config.password().ifPresent(hikari::setPassword);
        hikari.setMaximumPoolSize(size);
        hikari.setMinimumIdle(Math.min(2, size));
        hikari.setConnectionTimeout(CONNECT.toMillis());
        hikari.setValidationTimeout(TimeUnit.SECONDS.toMillis(VALIDATION_SECONDS));
        hikari.setInitializationFailTimeout(-1);
        hikari.addDataSourceProperty("ApplicationName", "berth " + name);
        hikari.addDataSourceProperty("tcpKeepAlive", "true");
        hikari.addDataSourceProperty("connectTimeout", "5");
        // A machine that vanished without a word: longer than any statement of ours may take.
        hikari.addDataSourceProperty("socketTimeout", "180");
        return new HikariDataSource(hikari);
    }

    private static void migrate(HikariDataSource source) {
        Flyway.configure()
                .dataSource(source)
                .locations("classpath:db/migration")
                .loggers("slf4j")
                .load()
                .migrate();
    }

    /** One or a few statements that are over at once. */
    public <T> T query(Function<Handle, T> statements) {
        try {
            return jdbi.withHandle(statements::apply);
        } catch (JdbiException e) {
            throw failure(e);
        }
    }

    public <T> T transaction(Function<Handle, T> statements) {
        try {
            return jdbi.inTransaction(statements::apply);
        } catch (JdbiException e) {
            throw failure(e);
        }
    }

    /** A connection for a whole transition, to be closed. */
    public Pinned pin(Duration patience) {
        try {
            if (!permits.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                throw SandboxException.timeout("too many sessions are being started or stopped; try again later");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the database", e);
        }
        boolean done = false;
        try {
            Pinned result = new Pinned(pinned.open());
            done = true;
            return result;
        } catch (JdbiException e) {
            throw failure(e);
        } finally {
            if (!done) {
                permits.release();
            }
        }
    }

    /** One connection, used by one thread at a time. */
    public final class Pinned implements AutoCloseable {
        private final Handle handle;

        private Pinned(Handle handle) {
            this.handle = handle;
        }

        public <T> T query(Function<Handle, T> statements) {
            try {
                return statements.apply(handle);
            } catch (JdbiException e) {
                throw failure(e);
            }
        }

        public <T> T transaction(Function<Handle, T> statements) {
            try {
                return handle.inTransaction(statements::apply);
            } catch (JdbiException e) {
                throw failure(e);
            }
        }

        /** Keeps it from being used by anybody after this. */
        public void discard() {
            transitions.evictConnection(handle.getConnection());
        }

        @Override
        public void close() {
            try {
                handle.close();
            } catch (JdbiException e) {
                throw failure(e);
            } finally {
                permits.release();
            }
        }
    }

    /** Listens to a channel of notifications until that is closed. */
    public Notifications listen(String channel, Notifications.Listener listener) {
        return new Notifications(config, channel, listener);
    }

    public boolean reachable() {
        try {
            return query(handle ->
                    handle.createQuery("SELECT true").mapTo(Boolean.class).one());
        } catch (SandboxException e) {
            return false;
        }
    }

    @Override
    public void close() {
        transitions.close();
        queries.close();
    }

    /** What a failure of the database is to everybody above. One of our own making stays what it is. */
    static RuntimeException failure(JdbiException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql) {
                String state = sql.getSQLState() == null ? "08000" : sql.getSQLState();
                if (state.equals("55P03")) {
                    return new SandboxException(
                            ErrorCode.TIMEOUT, "another server is busy with this session; try again later", e);
                }
                if (state.equals("22021") || state.equals("22P05")) {
                    return SandboxException.invalid("a text has a character that cannot be stored, such as NUL");
                }
                if (state.equals("23505")) {
                    return SandboxException.conflict("there is one of that name already");
                }
                // Classes of PostgreSQL's Appendix A: connection, transaction rolled back (a deadlock, for one),
                // resources, operator intervention, system error.
                if (state.startsWith("08")
                        || state.startsWith("40")
                        || state.startsWith("53")
                        || state.startsWith("57")
                        || state.startsWith("58")) {
                    return SandboxException.unavailable(
                            "the database cannot be used right now: " + reason(sql) + "; try again later", e);
                }
                return e;
            }
        }
        return e;
    }

    private static String reason(Throwable e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
    }
}
