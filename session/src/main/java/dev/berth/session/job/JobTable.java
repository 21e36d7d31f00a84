package dev.berth.session.job;

import dev.berth.session.SessionKey;
import dev.berth.session.job.JobOutput.Chunk;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** The tables {@code jobs} and {@code job_output}. */
final class JobTable {
    private static final String COLUMNS = """
            jobs.id, jobs.tenant, jobs.session, jobs.state, command, actor, call_id, exit_code, error, jobs.created_at, \
            ended_at, observed_at, stdout_end, stderr_end, dropped_bytes, server, stop_requested""";

    private JobTable() {}

    /** Waits for whoever else starts a job in this session, and returns how many run. */
    static int lockAndCount(Handle handle, SessionKey key) {
        handle.createQuery("SELECT true FROM sessions WHERE tenant = :tenant AND id = :session FOR UPDATE")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(Boolean.class)
                .one();
        return handle.createQuery(
                        "SELECT count(*) FROM jobs WHERE tenant = :tenant AND session = :session AND state = 'running'")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(Integer.class)
                .one();
    }

    static Job insert(
            Handle handle, String id, SessionKey key, JobRequest request, String server, Optional<String> token) {
        return handle.createQuery("""
                        INSERT INTO jobs (id, tenant, session, state, command, actor, call_id, server, token_hash)
                        VALUES (:id, :tenant, :session, 'running', :command, :actor, :call, :server, :token)
                        RETURNING\s""" + COLUMNS)
                .bind("id", id)
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("command", request.text())
                .bind("actor", request.actor())
                .bind("call", request.callId().orElse(null))
                .bind("server", server)
                .bind("token", token.orElse(null))
                .map(JobTable::row)
                .one();
    }

    static Optional<Job> find(Handle handle, String id) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM jobs WHERE id = :id")
                .bind("id", id)
                .map(JobTable::row)
                .findOne();
    }

    static Optional<String> tokenHash(Handle handle, String id) {
        return handle.createQuery("SELECT token_hash FROM jobs WHERE id = :id AND token_hash IS NOT NULL")
                .bind("id", id)
                .mapTo(String.class)
                .findOne();
    }

    /** The newest first. */
    static List<Job> list(
            Handle handle, Optional<String> tenant, Optional<String> session, Optional<JobState> state, int limit) {
        return handle.createQuery("SELECT " + COLUMNS + " " + """
                        FROM jobs WHERE (:tenant::text IS NULL OR tenant = :tenant)
                        AND (:session::text IS NULL OR session = :session)
                        AND (:state::text IS NULL OR state = :state)
                        ORDER BY created_at DESC, id LIMIT :limit""")
                .bind("tenant", tenant.orElse(null))
                .bind("session", session.orElse(null))
                .bind("state", state.map(JobState::toString).orElse(null))
                .bind("limit", limit)
                .map(JobTable::row)
                .list();
    }

    /** Those that run in sandboxes at a location. */
    static List<Job> running(Handle handle, String location) {
        return handle.createQuery("SELECT " + COLUMNS + " " + """
                        FROM jobs JOIN sessions ON sessions.tenant = jobs.tenant AND sessions.id = jobs.session
                        WHERE jobs.state = 'running' AND location = :location ORDER BY jobs.created_at""")
                .bind("location", location)
                .map(JobTable::row)
                .list();
    }

    /** Sessions at a location in which a job ended since. */
    static List<SessionKey> endedSince(Handle handle, String location, Duration ago) {
        return handle.createQuery("""
                        SELECT DISTINCT jobs.tenant, jobs.session
                        FROM jobs JOIN sessions ON sessions.tenant = jobs.tenant AND sessions.id = jobs.session
                        WHERE ended_at > now() - :ms * interval '1 millisecond' AND location = :location
                        AND sessions.state = 'active'""")
                .bind("ms", ago.toMillis())
                .bind("location", location)
                .map((row, context) -> new SessionKey(row.getString("tenant"), row.getString("session")))
                .list();
    }

    /** Makes a server the one that follows a job, if it still runs and is followed by whom it was. */
    static Optional<Job> claim(Handle handle, Job job, String server) {
        return handle.createQuery("""
                        UPDATE jobs SET server = :server
                        WHERE id = :id AND state = 'running' AND server IS NOT DISTINCT FROM :before RETURNING\s""" + COLUMNS)
                .bind("id", job.id())
                .bind("server", server)
                .bind("before", job.server().orElse(null))
                .map(JobTable::row)
                .findOne();
    }

    static boolean requestStop(Handle handle, String id) {
        return handle.createUpdate("UPDATE jobs SET stop_requested = true WHERE id = :id AND state = 'running'")
                        .bind("id", id)
                        .execute()
                > 0;
    }

    /** Notes that the sandbox has no longer what comes next of a stream. */
    static boolean skip(Handle handle, Job job, String stream, long from, long to) {
        return handle.createUpdate("""
                        UPDATE jobs SET %1$s_end = :to, dropped_bytes = dropped_bytes + :to - :from
                        WHERE id = :id AND state = 'running' AND server = :server AND %1$s_end = :from""".formatted(stream))
                        .bind("id", job.id())
                        .bind("server", job.server().orElse(null))
                        .bind("from", from)
                        .bind("to", to)
                        .execute()
                > 0;
    }

    /** What was written down last, and how much is kept. */
    record Written(long number, long kept) {}

    /** Writes what comes next of a stream; nothing if it is not what comes next, or not this server's to write. */
    static Optional<Written> write(Handle handle, Job job, String stream, long from, byte[] bytes) {
        Optional<Written> written = handle.createQuery("""
                        UPDATE jobs SET chunks = chunks + 1, %1$s_end = %1$s_end + :size
                        WHERE id = :id AND state = 'running' AND server = :server AND %1$s_end = :from
                        RETURNING chunks, stdout_end + stderr_end - dropped_bytes AS kept""".formatted(stream))
                .bind("id", job.id())
                .bind("server", job.server().orElse(null))
                .bind("from", from)
                .bind("size", bytes.length)
                .map((row, context) -> new Written(row.getLong("chunks"), row.getLong("kept")))
                .findOne();
        written.ifPresent(it -> insertChunk(handle, job.id(), it.number(), stream, from, bytes));
        return written;
    }

    private static void insertChunk(Handle handle, String id, long number, String stream, long offset, byte[] bytes) {
        handle.createUpdate("""
                        INSERT INTO job_output (job_id, number, stream, at_offset, size, bytes)
                        VALUES (:id, :number, :stream, :offset, :size, :bytes)""")
                .bind("id", id)
                .bind("number", number)
                .bind("stream", stream)
                .bind("offset", offset)
                .bind("size", bytes.length)
                .bind("bytes", bytes)
                .execute();
    }

    /** Forgets the oldest chunks, until at least so much is gone. */
    static void forget(Handle handle, String id, long bytes) {
        handle.createUpdate("""
                        WITH gone AS (
                            DELETE FROM job_output WHERE job_id = :id AND number IN (
                                SELECT number FROM (
                                    SELECT number, sum(size) OVER (ORDER BY number) - size AS before FROM (
                                        SELECT number, size FROM job_output WHERE job_id = :id ORDER BY number LIMIT 1000
                                    ) AS oldest
                                ) AS counted WHERE before < :bytes)
                            RETURNING size
                        )
                        UPDATE jobs SET dropped_bytes = dropped_bytes + (SELECT coalesce(sum(size), 0) FROM gone)
                        WHERE id = :id""").bind("id", id).bind("bytes", bytes).execute();
    }

    /** From the chunk after a number on, up to a size. */
    static List<Chunk> chunks(Handle handle, String id, long after, int limit, long bytes) {
        return handle.createQuery("""
                        SELECT number, stream, at_offset, bytes FROM (
                            SELECT *, sum(size) OVER (ORDER BY number) - size AS before FROM (
                                SELECT * FROM job_output WHERE job_id = :id AND number > :after ORDER BY number LIMIT :limit
                            ) AS next
                        ) AS counted WHERE before < :bytes ORDER BY number""")
                .bind("id", id)
                .bind("after", after)
                .bind("limit", limit)
                .bind("bytes", bytes)
                .map(JobTable::chunk)
                .list();
    }

    static long lastNumber(Handle handle, String id) {
        return handle.createQuery("SELECT chunks FROM jobs WHERE id = :id")
                .bind("id", id)
                .mapTo(Long.class)
                .one();
    }

    /** A chunk of a certain job. */
    record Named(String job, Chunk chunk) {}

    static List<Named> named(Handle handle, List<String> jobs, List<Long> numbers) {
        return handle.createQuery("""
                        SELECT job_id, number, stream, at_offset, bytes
                        FROM job_output JOIN unnest(:jobs, :numbers) AS wanted (job, chunk)
                        ON job_id = wanted.job AND number = wanted.chunk""")
                .bindArray("jobs", String.class, jobs)
                .bindArray("numbers", Long.class, numbers)
                .map((row, context) -> new Named(row.getString("job_id"), chunk(row, context)))
                .list();
    }

    /** Ends a job that runs; nothing if it has ended. */
    static Optional<Job> end(Handle handle, String id, JobState state, int exitCode, @Nullable String error) {
        return handle.createQuery("""
                        UPDATE jobs SET state = :state, exit_code = :exit, error = :error, ended_at = now(), server = NULL
                        WHERE id = :id AND state = 'running' RETURNING\s""" + COLUMNS)
                .bind("id", id)
                .bind("state", state.toString())
                .bind("exit", exitCode)
                .bind("error", error)
                .map(JobTable::row)
                .findOne();
    }

    static Optional<Job> observe(Handle handle, String id) {
        return handle.createQuery("""
                        UPDATE jobs SET observed_at = now()
                        WHERE id = :id AND state <> 'running' AND observed_at IS NULL RETURNING\s""" + COLUMNS)
                .bind("id", id)
                .map(JobTable::row)
                .findOne();
    }

    static int forgetEnded(Handle handle, Duration kept) {
        return handle.createUpdate("DELETE FROM jobs WHERE ended_at < now() - :ms * interval '1 millisecond'")
                .bind("ms", kept.toMillis())
                .execute();
    }

    private static Chunk chunk(ResultSet row, StatementContext context) throws SQLException {
        return new Chunk(
                row.getLong("number"),
                Objects.requireNonNull(row.getString("stream")),
                row.getLong("at_offset"),
                Objects.requireNonNull(row.getBytes("bytes")));
    }

    private static Job row(ResultSet row, StatementContext context) throws SQLException {
        int exit = row.getInt("exit_code");
        OptionalInt exitCode = row.wasNull() ? OptionalInt.empty() : OptionalInt.of(exit);
        return new Job(
                Objects.requireNonNull(row.getString("id")),
                new SessionKey(row.getString("tenant"), row.getString("session")),
                JobState.parse(Objects.requireNonNull(row.getString("state"))),
                Objects.requireNonNull(row.getString("command")),
                Objects.requireNonNull(row.getString("actor")),
                Optional.ofNullable(row.getString("call_id")),
                exitCode,
                Optional.ofNullable(row.getString("error")),
                time(row, "created_at").orElseThrow(),
                time(row, "ended_at"),
                time(row, "observed_at"),
                row.getLong("stdout_end"),
                row.getLong("stderr_end"),
                row.getLong("dropped_bytes"),
                Optional.ofNullable(row.getString("server")),
                row.getBoolean("stop_requested"));
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }
}
