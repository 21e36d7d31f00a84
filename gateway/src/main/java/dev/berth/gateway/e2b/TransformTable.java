package dev.berth.gateway.e2b;

import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.e2b.Transforms.Header;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.util.List;
import java.util.Optional;
import tools.jackson.core.type.TypeReference;

/** The table {@code e2b_rules}. */
public final class TransformTable {
    public static final SealedColumn SEALED = new SealedColumn(
            "e2b_rules", List.of("tenant", "session"), "rules_sealed", key -> place(key.get(0), key.get(1)));

    private final Database database;
    private final Sealer sealer;

    public TransformTable(Database database, Sealer sealer) {
        this.database = database;
        this.sealer = sealer;
    }

    /** Takes the place of what the session had. What is of sessions that have long been gone goes with it. */
    void put(SessionKey session, List<Header> headers) {
        if (headers.isEmpty()) {
            database.query(
                    handle -> handle.createUpdate("DELETE FROM e2b_rules WHERE tenant = :tenant AND session = :session")
                            .bind("tenant", session.tenant())
                            .bind("session", session.id())
                            .execute());
            return;
        }
        byte[] sealed = sealer.seal(place(session.tenant(), session.id()), Json.MAPPER.writeValueAsString(headers));
        database.transaction(handle -> {
            handle.createUpdate("""
                            DELETE FROM e2b_rules r WHERE r.updated_at < now() - interval '1 hour' AND NOT EXISTS (
                                SELECT FROM sessions s
                                WHERE s.tenant = r.tenant AND s.id = r.session AND s.state <> 'destroyed')""").execute();
            return handle.createUpdate("""
                            INSERT INTO e2b_rules (tenant, session, rules_sealed) VALUES (:tenant, :session, :sealed)
                            ON CONFLICT (tenant, session) DO UPDATE
                                SET rules_sealed = excluded.rules_sealed, updated_at = now()""")
                    .bind("tenant", session.tenant())
                    .bind("session", session.id())
                    .bind("sealed", sealed)
                    .execute();
        });
    }

    List<Header> get(SessionKey session) {
        Optional<byte[]> sealed = database.query(handle -> handle.createQuery(
                        "SELECT rules_sealed FROM e2b_rules WHERE tenant = :tenant AND session = :session")
                .bind("tenant", session.tenant())
                .bind("session", session.id())
                .mapTo(byte[].class)
                .findOne());
        return sealed.map(bytes -> Json.MAPPER.readValue(
                        sealer.open(place(session.tenant(), session.id()), bytes),
                        new TypeReference<List<Header>>() {}))
                .orElse(List.of());
    }

    /** Tenants have no slash in their names. */
    private static String place(String tenant, String session) {
        return "e2b_rules/" + tenant + "/" + session;
    }
}
