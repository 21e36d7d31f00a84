package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;
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

    private final DirectoryLock lock;
    private final Postmaster postmaster;
    private final String password;
    private final AtomicBoolean closed = new AtomicBoolean();

    private EmbeddedPostgres(DirectoryLock lock, Postmaster postmaster, String password) {
        this.lock = lock;
        this.postmaster = postmaster;
        this.password = password;
    }

    /** Whether this build has the programs for this machine. */
    public static boolean isPacked() {
        try {
            ProgramArchive.find(System.getProperty("os.arch", "unknown"));
            return true;
        } catch (SandboxException e) {
            return false;
        }
    }

    /** Starts it, making it first if there is none. Returns when it takes connections. */
    public static EmbeddedPostgres start(PostgresConfig config) {
        Account account;
        try {
            account = Account.current();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not find out who runs the server: " + e.getMessage(), e);
        }
        return start(config, account, new FreePorts(new SecureRandom()));
    }

    static EmbeddedPostgres start(PostgresConfig config, Account account, IntSupplier ports) {
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
            boolean ready = false;
            try {
                Programs programs = Programs.unpack(archive, config.binaries());
                ServerLog log = ServerLog.open(directory.resolve("postgres.log"));
                Installation installation = new Installation(programs, account, log, diagnosis);
                Cluster cluster = Cluster.open(directory, installation, config.durable());
                started = new EmbeddedPostgres(lock, run(config, cluster, installation, ports), cluster.password());
                started.makeDatabase();
                ready = true;
                return started;
            } catch (SQLException e) {
                throw SandboxException.unavailable(
                        "could not start PostgreSQL in " + directory + ": it runs, but refuses the server: "
                                + e.getMessage() + "; is " + directory.resolve("password") + " as it was?",
                        e);
            } finally {
                if (!ready && started != null) {
                    started.close();
                } else if (!ready) {
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

    private static Postmaster run(PostgresConfig config, Cluster cluster, Installation installation, IntSupplier ports)
            throws IOException, InterruptedException {
        Remains remains = new Remains(cluster, installation);
        int port = 0;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            port = config.port().orElseGet(ports);
            Postmaster postmaster = new Postmaster(installation, cluster, remains, config.settings(), port);
            if (postmaster.start()) {
                return postmaster;
            }
        }
        throw SandboxException.unavailable("could not start PostgreSQL in " + config.directory()
                + ": somebody else has port " + port + " of 127.0.0.1, or one before does not let go of its memory");
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
}
