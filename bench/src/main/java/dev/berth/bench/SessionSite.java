package dev.berth.bench;

import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.IdlePolicy;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.postgres.EmbeddedPostgres;
import dev.berth.session.postgres.PostgresConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Sessions as a server has them, on an embedded PostgreSQL that waits for the disk. Closing it leaves nothing. */
final class SessionSite implements AutoCloseable {
    static final SessionKey KEY = SessionKey.of(SessionKey.DEFAULT_TENANT, "bench");
    private static final int MOST_SESSIONS = 10_000;

    private final SandboxProvider provider;
    private final Path data;
    private final SessionSpec spec;
    private final EmbeddedPostgres postgres;
    private final Database database;
    private final Sessions sessions;

    private SessionSite(
            SandboxProvider provider,
            Path data,
            SessionSpec spec,
            EmbeddedPostgres postgres,
            Database database,
            Sessions sessions) {
        this.provider = provider;
        this.data = data;
        this.spec = spec;
        this.postgres = postgres;
        this.database = database;
        this.sessions = sessions;
    }

    /** @param programs where PostgreSQL's are unpacked, which may be shared and is not removed */
    static SessionSite open(SandboxProvider provider, String template, Path data, Path programs) throws IOException {
        Files.createDirectories(data);
        EmbeddedPostgres postgres =
                EmbeddedPostgres.start(PostgresConfig.of(data).withBinaries(programs));
        boolean done = false;
        try {
            Database database =
                    Database.open(DatabaseConfig.of(postgres.jdbcUrl(), postgres.user(), postgres.password()));
            Sessions sessions = Sessions.open(
                    SessionsConfig.of(data.resolve("spool")),
                    provider,
                    database,
                    DirectoryArchives.open(data.resolve("archives")),
                    new SimpleMeterRegistry(),
                    "bench".getBytes(StandardCharsets.UTF_8),
                    _ -> Optional.empty());
            done = true;
            SessionSpec spec = SessionSpec.DEFAULT.withTemplate(template).withIdle(IdlePolicy.NEVER);
            return new SessionSite(provider, data, spec, postgres, database, sessions);
        } finally {
            if (!done) {
                postgres.close();
            }
        }
    }

    SandboxProvider provider() {
        return provider;
    }

    Path data() {
        return data;
    }

    Database database() {
        return database;
    }

    Sessions sessions() {
        return sessions;
    }

    /** The session of {@link #KEY}, up. */
    Session resolve() {
        return resolve(KEY);
    }

    Session resolve(SessionKey key) {
        return sessions.resolve(key, spec);
    }

    @Override
    public void close() throws IOException {
        try {
            for (SessionInfo session : sessions.list(Optional.empty(), MOST_SESSIONS)) {
                sessions.delete(session.key());
            }
            sessions.close();
            database.close();
        } finally {
            postgres.close();
        }
        Directories.remove(data);
    }
}
