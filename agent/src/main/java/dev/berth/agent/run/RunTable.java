package dev.berth.agent.run;

import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.Past.Said;
import dev.berth.session.SessionKey;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** The tables {@code agent_runs} and {@code agent_messages}. */
final class RunTable {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static final String COLUMNS = "id, tenant, session, state, runtime, actor, prompt, attempt, acted, answer,"
            + " error, first_event, created_at, ended_at";

    private RunTable() {}

    /** A message that waits to be said. */
    record Waiting(long id, Message message) {}

    /**
     * What a server has to know that goes on with a run.
     *
     * @param outcome how the agent said that it ended, if it did
     * @param questions that nobody has answered
     */
    record Standing(
            Run run,
            Optional<Ended> outcome,
            Map<String, Asked> questions,
            Optional<String> abortedBy,
            Duration age,
            boolean said) {}

    // ---- finding -------------------------------------------------------------------------------------------------

    static Optional<Run> find(Handle handle, String id) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM agent_runs WHERE id = :id")
                .bind("id", id)
                .map((row, _) -> run(row))
                .findOne();
    }

    static Optional<Run> current(Handle handle, SessionKey key) {
        return current(handle, key, "");
    }

    /** The run that goes on, which nobody else changes until the end of the transaction. */
    static Optional<Run> lockCurrent(Handle handle, SessionKey key) {
        return current(handle, key, " FOR UPDATE");
    }

    private static Optional<Run> current(Handle handle, SessionKey key, String lock) {
        return handle.createQuery("SELECT " + COLUMNS
                        + " FROM agent_runs WHERE tenant = :tenant AND session = :session AND ended_at IS NULL" + lock)
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .map((row, _) -> run(row))
                .findOne();
    }

    static List<Run> list(Handle handle, SessionKey key, Optional<String> before, int limit) {
        return handle.createQuery("SELECT " + COLUMNS + """
                         FROM agent_runs WHERE tenant = :tenant AND session = :session
                        AND (:before::text IS NULL OR number < (
                            SELECT number FROM agent_runs WHERE id = :before AND tenant = :tenant AND session = :session))
                        ORDER BY number DESC LIMIT :limit""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("before", before.orElse(null))
                .bind("limit", limit)
                .map((row, _) -> run(row))
                .list();
    }

    /** One that is this server's, as it stands. */
    static Optional<Standing> standing(Handle handle, String id, String owner) {
        return handle.createQuery("SELECT " + COLUMNS + """
                        , outcome, outcome_message, questions::text AS questions, aborted_by,
                        extract(epoch FROM now() - created_at) AS age,
                        EXISTS (SELECT FROM agent_messages m WHERE m.run = agent_runs.id AND m.said_at IS NOT NULL) AS said
                        FROM agent_runs WHERE id = :id AND owner = :owner AND ended_at IS NULL""")
                .bind("id", id)
                .bind("owner", owner)
                .map((row, _) -> new Standing(
                        run(row),
                        Optional.ofNullable(row.getString("outcome")).map(outcome -> ended(outcome, message(row))),
                        JSON.readValue(
                                row.getString("questions"), new TypeReference<LinkedHashMap<String, Asked>>() {}),
                        Optional.ofNullable(row.getString("aborted_by")),
                        Duration.ofMillis((long) (row.getDouble("age") * 1000)),
                        row.getBoolean("said")))
                .findOne();
    }

    private static @Nullable String message(ResultSet row) {
        try {
            return row.getString("outcome_message");
        } catch (SQLException e) {
            throw new IllegalStateException("the column was asked for", e);
        }
    }

    private static Ended ended(String outcome, @Nullable String message) {
        return new Ended(Outcome.valueOf(outcome.toUpperCase(Locale.ROOT)), Optional.ofNullable(message));
    }

    private static Run run(ResultSet row) throws SQLException {
        return new Run(
                row.getString("id"),
                SessionKey.of(row.getString("tenant"), row.getString("session")),
                Run.State.valueOf(row.getString("state").toUpperCase(Locale.ROOT)),
                row.getString("runtime"),
                row.getString("actor"),
                row.getString("prompt"),
                row.getInt("attempt"),
                row.getInt("acted"),
                row.getString("answer"),
                Optional.ofNullable(row.getString("error")),
                row.getLong("first_event"),
                row.getObject("created_at", OffsetDateTime.class).toInstant(),
                Optional.ofNullable(row.getObject("ended_at", OffsetDateTime.class))
                        .map(OffsetDateTime::toInstant));
    }

    // ---- beginning -----------------------------------------------------------------------------------------------

    /** @param owner the server that drives it; null for whoever finds it */
    static void insert(
            Handle handle,
            String id,
            SessionKey key,
            String runtime,
            Message message,
            long firstEvent,
            @Nullable String owner,
            Duration lease) {
        handle.createUpdate("""
                        INSERT INTO agent_runs (id, tenant, session, state, runtime, actor, prompt, first_event, owner, lease_until)
                        VALUES (:id, :tenant, :session, 'starting', :runtime, :actor, :prompt, :first, :owner::text,
                            CASE WHEN :owner::text IS NULL THEN '-infinity' ELSE now() + make_interval(secs => :lease) END)""")
                .bind("id", id)
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("runtime", runtime)
                .bind("actor", message.actor())
                .bind("prompt", message.text())
                .bind("first", firstEvent)
                .bind("owner", owner)
                .bind("lease", seconds(lease))
                .execute();
    }

    static void insert(Handle handle, String run, Message message) {
        handle.createUpdate("INSERT INTO agent_messages (run, text, files, actor, person)"
                        + " VALUES (:run, :text, :files, :actor, :person)")
                .bind("run", run)
                .bind("text", message.text())
                .bindArray("files", String.class, message.files())
                .bind("actor", message.actor())
                .bind("person", message.person().orElse(null))
                .execute();
    }

    // ---- whose it is ---------------------------------------------------------------------------------------------

    /** Says again that this server lives, and takes those that nobody looks after. Returns all that are its own then. */
    static List<String> claim(Handle handle, String owner, String location, Duration lease) {
        return handle.createQuery("""
                        UPDATE agent_runs SET owner = :owner, lease_until = now() + make_interval(secs => :lease)
                        WHERE id IN (
                            SELECT r.id FROM agent_runs r JOIN sessions s ON s.tenant = r.tenant AND s.id = r.session
                            WHERE r.ended_at IS NULL AND (r.owner = :owner OR r.lease_until < now())
                            AND (s.location = :location OR s.state = 'destroyed')
                            FOR UPDATE OF r SKIP LOCKED)
                        RETURNING id""")
                .bind("owner", owner)
                .bind("location", location)
                .bind("lease", seconds(lease))
                .mapTo(String.class)
                .list();
    }

    static int release(Handle handle, String owner) {
        return handle.createUpdate("UPDATE agent_runs SET owner = NULL, lease_until = '-infinity'"
                        + " WHERE owner = :owner AND ended_at IS NULL")
                .bind("owner", owner)
                .execute();
    }

    private static double seconds(Duration duration) {
        return duration.toMillis() / 1000.0;
    }

    // ---- going on ------------------------------------------------------------------------------------------------

    /**
     * How far it has come.
     *
     * @param answer null if it is too long to be written again and again
     */
    record Progress(int acted, @Nullable String answer, Optional<Ended> outcome, Collection<Asked> questions) {}

    /** @return false if it is not this server's any more */
    static boolean progress(Handle handle, String id, String owner, Progress progress) {
        Map<String, Asked> questions = new LinkedHashMap<>();
        progress.questions.forEach(question -> questions.put(question.question(), question));
        return handle.createUpdate("""
                        UPDATE agent_runs SET acted = :acted, answer = coalesce(:answer, answer), outcome = :outcome,
                            outcome_message = :message, questions = :questions::jsonb
                        WHERE id = :id AND owner = :owner AND ended_at IS NULL""")
                        .bind("id", id)
                        .bind("owner", owner)
                        .bind("acted", progress.acted)
                        .bind("answer", progress.answer)
                        .bind(
                                "outcome",
                                progress.outcome
                                        .map(ended -> ended.outcome().name().toLowerCase(Locale.ROOT))
                                        .orElse(null))
                        .bind(
                                "message",
                                progress.outcome.flatMap(Ended::message).orElse(null))
                        .bind("questions", JSON.writeValueAsString(questions))
                        .execute()
                > 0;
    }

    static void state(Handle handle, String id, Run.State state) {
        handle.createUpdate("UPDATE agent_runs SET state = :state WHERE id = :id AND ended_at IS NULL")
                .bind("id", id)
                .bind("state", state.toString())
                .execute();
    }

    /** Those that the agent was not given yet, in their order. */
    static List<Waiting> unsaid(Handle handle, String run) {
        return handle.createQuery(
                        "SELECT id, text, files, actor, person FROM agent_messages WHERE run = :run AND said_at IS NULL"
                                + " ORDER BY id")
                .bind("run", run)
                .map((row, _) -> new Waiting(
                        row.getLong("id"),
                        new Message(
                                row.getString("text"),
                                List.of((String[]) row.getArray("files").getArray()),
                                row.getString("actor"),
                                Optional.ofNullable(row.getString("person")))))
                .list();
    }

    static void said(Handle handle, long message, boolean said) {
        handle.createUpdate("UPDATE agent_messages SET said_at = CASE WHEN :said THEN now() END WHERE id = :id")
                .bind("id", message)
                .bind("said", said)
                .execute();
    }

    /** The agent has everything it was given. */
    static void taken(Handle handle, String run) {
        handle.createUpdate("UPDATE agent_messages SET taken = true WHERE run = :run AND said_at IS NOT NULL")
                .bind("run", run)
                .execute();
    }

    /** What may not have reached the agent is to be said again. */
    static int unsayDoubtful(Handle handle, String run) {
        return handle.createUpdate(
                        "UPDATE agent_messages SET said_at = NULL WHERE run = :run AND said_at IS NOT NULL AND NOT taken")
                .bind("run", run)
                .execute();
    }

    /** Begins it once more, from the first message on. */
    static void again(Handle handle, String run) {
        handle.createUpdate(
                        "UPDATE agent_runs SET attempt = attempt + 1, state = 'starting' WHERE id = :run AND ended_at IS NULL")
                .bind("run", run)
                .execute();
        handle.createUpdate("UPDATE agent_messages SET said_at = NULL, taken = false WHERE run = :run")
                .bind("run", run)
                .execute();
    }

    // ---- ending --------------------------------------------------------------------------------------------------

    static Optional<String> requestAbort(Handle handle, SessionKey key, String actor) {
        return handle.createQuery("""
                        UPDATE agent_runs SET aborted_by = coalesce(aborted_by, :actor)
                        WHERE tenant = :tenant AND session = :session AND ended_at IS NULL RETURNING id""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("actor", actor)
                .mapTo(String.class)
                .findOne();
    }

    static Optional<String> abortedBy(Handle handle, String run) {
        return handle.createQuery("SELECT aborted_by FROM agent_runs WHERE id = :id AND aborted_by IS NOT NULL")
                .bind("id", run)
                .mapTo(String.class)
                .findOne();
    }

    /** @return false if it is not this server's any more, or has ended */
    static boolean end(Handle handle, String run, String owner, Ended ended, int acted, String answer) {
        int changed = handle.createUpdate("""
                        UPDATE agent_runs SET state = :state, error = :error, acted = :acted, answer = :answer, ended_at = now(),
                            questions = '{}' WHERE id = :id AND owner = :owner AND ended_at IS NULL""")
                .bind("id", run)
                .bind("owner", owner)
                .bind("state", Run.State.of(ended.outcome()).toString())
                .bind("error", ended.message().orElse(null))
                .bind("acted", acted)
                .bind("answer", answer)
                .execute();
        if (changed > 0) {
            handle.createUpdate("UPDATE agent_messages SET said_at = now() WHERE run = :run AND said_at IS NULL")
                    .bind("run", run)
                    .execute();
        }
        return changed > 0;
    }

    /** Keeps others from adding a message to a run until the end of the transaction. */
    static void lock(Handle handle, String run) {
        handle.createQuery("SELECT id FROM agent_runs WHERE id = :id FOR UPDATE")
                .bind("id", run)
                .mapTo(String.class)
                .findOne();
    }

    // ---- what was said -------------------------------------------------------------------------------------------

    /** What an agent said in a run since its last tool, from the events that were written. */
    static String answer(Handle handle, Run run) {
        return handle.createQuery("""
                        SELECT coalesce(string_agg(data ->> 'text', '' ORDER BY seq), '') FROM events
                        WHERE tenant = :tenant AND session = :session AND seq >= :first AND type = 'run.text'
                        AND data ->> 'run_id' = :run AND seq > (
                            SELECT coalesce(max(seq), 0) FROM events WHERE tenant = :tenant AND session = :session
                            AND seq >= :first AND type = 'run.tool.start' AND data ->> 'run_id' = :run)""")
                .bind("tenant", run.session().tenant())
                .bind("session", run.session().id())
                .bind("first", run.firstEvent())
                .bind("run", run.id())
                .mapTo(String.class)
                .one();
    }

    /**
     * The last messages and answers of a session in their order.
     *
     * @param except a run that is left out; empty for none
     */
    static List<Said> said(Handle handle, SessionKey key, String except, int limit) {
        List<Said> latest = handle.createQuery("""
                        SELECT by_agent, text, files, person FROM (
                            SELECT r.number, 0 AS part, m.id, false AS by_agent, m.text, m.files, m.person
                                FROM agent_runs r JOIN agent_messages m ON m.run = r.id
                                WHERE r.tenant = :tenant AND r.session = :session AND NOT r.forgotten AND r.id <> :except
                            UNION ALL
                            SELECT r.number, 1, 0, true, r.answer, '{}', NULL FROM agent_runs r
                                WHERE r.tenant = :tenant AND r.session = :session AND NOT r.forgotten AND r.id <> :except
                                AND r.answer <> ''
                        ) AS said ORDER BY number DESC, part DESC, id DESC LIMIT :limit""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("except", except)
                .bind("limit", limit)
                .map((row, _) -> new Said(
                        row.getBoolean("by_agent"),
                        Spoken.text(
                                row.getString("text"),
                                List.of((String[]) row.getArray("files").getArray()),
                                Optional.ofNullable(row.getString("person")))))
                .list();
        return latest.reversed();
    }

    static void forget(Handle handle, SessionKey key) {
        handle.createUpdate("UPDATE agent_runs SET forgotten = true"
                        + " WHERE tenant = :tenant AND session = :session AND ended_at IS NOT NULL")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .execute();
    }
}
