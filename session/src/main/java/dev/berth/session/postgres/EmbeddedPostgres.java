package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A PostgreSQL of the server's own, which starts and stops with it and needs no setting up.
 *
 * <p>It lives in one directory: {@code data} is the cluster, {@code password} the way in, {@code postgres.log} what it
 * says, and {@code lock} keeps a second server out. It listens on the loopback address alone, asks for the password
 * there, and runs as a user that nothing else runs as. It stops with the server even when that is killed with -9, and
 * should it die on its own, it is started again on the same port.
 */
public final class EmbeddedPostgres implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EmbeddedPostgres.class);
    private static final String DATABASE = "berth";
    private static final String NO_SUCH_DATABASE = "3D000";
    private static final int ATTEMPTS = 10;
    /**
     * Below the ports that outgoing connections get (ip_local_port_range in ip(7)), lest one of them takes the port while
     * PostgreSQL restarts; a client that keeps trying to reach it could even end up connected to itself.
     */
    private static final int FIRST_PORT = 15_000;

    private static final int LAST_PORT = 29_999;

    private final DirectoryLock lock;
    private final Postmaster postmaster;
    private final String password;
    private final AtomicBoolean closed = new AtomicBoolean();

    private EmbeddedPostgres(DirectoryLock lock, Postmaster postmaster, String password) {
        this.lock = lock;
        this.postmaster = postmaster;
        this.password = password;
    }

    /** Starts it, making it first if there is none. Returns when it takes connections. */
    public static EmbeddedPostgres start(PostgresConfig config) {
        Account account;
        try {
            account = Account.current();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not find out who runs the server: " + e.getMessage(), e);
        }
        return start(config, account);
    }

    static EmbeddedPostgres start(PostgresConfig config, Account account) {
        ProgramArchive archive = ProgramArchive.find(System.getProperty("os.arch", "unknown"));
        Diagnosis diagnosis = new Diagnosis(config, account);
        try {
            Path directory = Files.createDirectories(config.directory()).toRealPath();
            account.admit(directory);
            DirectoryLock lock = DirectoryLock.tryAcquire(directory)
                    .orElseThrow(
                            () -> SandboxException.conflict("could not start PostgreSQL: another Berth server uses "
                                    + config.directory() + "; stop it, or give this one another data directory"));
            EmbeddedPostgres started = null;
            try {
                Programs programs = Programs.unpack(archive, config.binaries());
                ServerLog log = ServerLog.open(directory.resolve("postgres.log"));
                Installation installation = new Installation(programs, account, log, diagnosis);
                started = start(config, directory, installation, lock);
                return started;
            } finally {
                if (started == null) {
                    lock.close();
                }
            }
        } catch (IOException e) {
            throw diagnosis.of(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while starting PostgreSQL", e);
        }
    }

    private static EmbeddedPostgres start(
            PostgresConfig config, Path directory, Installation installation, DirectoryLock lock)
            throws IOException, InterruptedException {
        boolean sync = !config.settings().getOrDefault("fsync", "on").equals("off");
        Cluster cluster = Cluster.open(directory, installation, sync);
        Remains remains = new Remains(cluster, installation);
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Postmaster postmaster = new Postmaster(installation, cluster, remains, config.settings(), port(config));
            if (postmaster.start()) {
                EmbeddedPostgres started = new EmbeddedPostgres(lock, postmaster, cluster.password());
                try {
                    started.makeDatabase();
                    return started;
                } catch (SQLException e) {
                    postmaster.close();
                    throw SandboxException.unavailable(
                            "could not start PostgreSQL in " + directory + ": it runs, but refuses the server: "
                                    + e.getMessage() + "; is " + directory.resolve("password") + " as it was?",
                            e);
                }
            }
        }
        throw SandboxException.unavailable(
                "could not start PostgreSQL in " + directory + ": no free port on 127.0.0.1");
    }

    /**
     * {@code jdbc:postgresql://127.0.0.1:PORT/berth}, without user and password. It forbids the driver to tell the
     * password in any other way than SCRAM, which does not give it away: were PostgreSQL down, another process of the
     * machine could listen on its port and ask for it.
     */
    public String jdbcUrl() {
        return jdbcUrl(DATABASE);
    }

    public String user() {
        return Cluster.USER;
    }

    public String password() {
        return password;
    }

    /** Stops it, fast and cleanly, and lets others have the directory. Nothing happens if it was stopped before. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        postmaster.close();
        try {
            lock.close();
        } catch (IOException e) {
            LOG.warn("could not release the lock of PostgreSQL's directory: {}", e.getMessage());
        }
    }

    /** For tests that kill it. */
    ProcessHandle handle() {
        return postmaster.handle();
    }

    int port() {
        return postmaster.port();
    }

    private String jdbcUrl(String database) {
        return "jdbc:postgresql://127.0.0.1:" + postmaster.port() + "/" + database + "?requireAuth=scram-sha-256";
    }

    /** The first connection shows whether the database is there; a server killed during its very first start has none. */
    private void makeDatabase() throws SQLException {
        try {
            connect(DATABASE).close();
            return;
        } catch (SQLException e) {
            if (!NO_SUCH_DATABASE.equals(e.getSQLState())) {
                throw e;
            }
        }
        try (Connection connection = connect("postgres");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + DATABASE);
        }
    }

    private Connection connect(String database) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user());
        properties.setProperty("password", password);
        properties.setProperty("socketTimeout", "60");
        return DriverManager.getConnection(jdbcUrl(database), properties);
    }

    private static int port(PostgresConfig config) throws IOException {
        String wanted = config.settings().get("port");
        if (wanted != null) {
            return Integer.parseInt(wanted);
        }
        SecureRandom random = new SecureRandom();
        IOException failure = new IOException("no free port on 127.0.0.1");
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = random.nextInt(FIRST_PORT, LAST_PORT + 1);
            try (ServerSocket socket = new ServerSocket()) {
                socket.setReuseAddress(true);
                socket.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
                return port;
            } catch (IOException e) {
                failure = e;
            }
        }
        throw failure;
    }
}
