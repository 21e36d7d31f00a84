package dev.berth.gateway.agent;

import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.util.Optional;
import tools.jackson.databind.json.JsonMapper;

/** The table {@code agent_choices}. */
final class ChoiceTable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** The session in the row of a tenant itself; no session is called that. */
    private static final String TENANT = "";

    private final Database database;

    ChoiceTable(Database database) {
        this.database = database;
    }

    AgentChoice of(SessionKey session) {
        return find(session.tenant(), session.id()).orElse(AgentChoice.NONE);
    }

    AgentChoice of(String tenant) {
        return find(tenant, TENANT).orElse(AgentChoice.NONE);
    }

    void put(SessionKey session, AgentChoice choice, String who) {
        put(session.tenant(), session.id(), choice, who);
    }

    void put(String tenant, AgentChoice choice, String who) {
        put(tenant, TENANT, choice, who);
    }

    private Optional<AgentChoice> find(String tenant, String session) {
        return database.query(handle -> handle.createQuery(
                        "SELECT choice::text FROM agent_choices WHERE tenant = :tenant AND session = :session")
                .bind("tenant", tenant)
                .bind("session", session)
                .mapTo(String.class)
                .findOne()
                .map(text -> AgentChoice.read(JSON.readTree(text))));
    }

    private void put(String tenant, String session, AgentChoice choice, String who) {
        database.query(handle -> handle.createUpdate("""
                        INSERT INTO agent_choices (tenant, session, choice, changed_by)
                        VALUES (:tenant, :session, :choice::jsonb, :who)
                        ON CONFLICT (tenant, session) DO UPDATE SET choice = excluded.choice,
                            changed_by = excluded.changed_by, changed_at = now()""")
                .bind("tenant", tenant)
                .bind("session", session)
                .bind("choice", JSON.writeValueAsString(choice.show()))
                .bind("who", who)
                .execute());
    }
}
