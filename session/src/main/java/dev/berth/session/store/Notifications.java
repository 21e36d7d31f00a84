package dev.berth.session.store;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens to a channel of PostgreSQL's NOTIFY on a connection of its own. Notifications are not kept for those who are
 * away, so after every new connection the listener is told that some may be missing.
 */
public final class Notifications implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Notifications.class);
    /** How long a connection may be silent before it is tried. */
    private static final Duration SILENCE = Duration.ofSeconds(20);

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int VALIDATION_SECONDS = 3;

    /** What becomes of notifications; called on one thread, which it should not keep. */
    public interface Listener {
        void told(String payload);

        /** Any number of notifications may be missing. */
        void missed();
    }

    private final DatabaseConfig config;
    private final String channel;
    private final Listener listener;
    private final Thread thread;
    private volatile @Nullable Connection connection;
    private volatile boolean closed;

    Notifications(DatabaseConfig config, String channel, Listener listener) {
        this.config = config;
        this.channel = channel;
        this.listener = listener;
        this.thread =
                Thread.ofPlatform().daemon().name("notifications " + channel).start(this::run);
    }

    private void run() {
        boolean failing = false;
        while (!closed) {
            try (Connection current = connect()) {
                connection = current;
                failing = false;
                listener.missed();
                listen(current);
            } catch (SQLException e) {
                if (!closed && !failing) {
                    LOG.warn("lost the database's notifications, connecting again: {}", e.getMessage());
                    failing = true;
                }
                pause();
            }
        }
    }

    private Connection connect() throws SQLException {
        Properties properties = new Properties();
        config.user().ifPresent(user -> properties.setProperty("user", user));
        config.password().ifPresent(password -> properties.setProperty("password", password));
        properties.setProperty("ApplicationName", "berth notifications");
        properties.setProperty("tcpKeepAlive", "true");
        properties.setProperty("connectTimeout", "5");
        Connection made = DriverManager.getConnection(config.jdbcUrl(), properties);
        try (Statement statement = made.createStatement()) {
            statement.execute("LISTEN " + channel);
            return made;
        } catch (SQLException e) {
            made.close();
            throw e;
        }
    }

    private void listen(Connection current) throws SQLException {
        PGConnection postgres = current.unwrap(PGConnection.class);
        while (!closed) {
            PGNotification[] told = postgres.getNotifications((int) SILENCE.toMillis());
            if (told.length == 0 && !current.isValid(VALIDATION_SECONDS)) {
                throw new SQLException("the database does not answer");
            }
            for (PGNotification one : told) {
                listener.told(one.getParameter());
            }
        }
    }

    private void pause() {
        try {
            if (!closed) {
                Thread.sleep(RETRY);
            }
        } catch (InterruptedException e) {
            closed = true; // only close() interrupts
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        Connection current = connection;
        if (current != null) {
            try {
                current.abort(Runnable::run);
            } catch (SQLException e) {
                LOG.debug("could not close the connection for notifications", e);
            }
        }
    }
}
