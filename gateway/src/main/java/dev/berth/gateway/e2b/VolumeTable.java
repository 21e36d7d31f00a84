package dev.berth.gateway.e2b;

import dev.berth.session.store.Database;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jdbi.v3.core.statement.StatementContext;

/** The table {@code volumes}. */
final class VolumeTable {
    private static final String COLUMNS = "id, tenant, name, location";

    private final Database database;

    VolumeTable(Database database) {
        this.database = database;
    }

    /** One volume, and where it is. */
    record Row(String id, String tenant, String name, String location) {}

    /** Empty if there is one of that name. */
    Optional<Row> insert(Row row) {
        return database.query(handle -> handle.createQuery("""
                        INSERT INTO volumes (id, tenant, name, location) VALUES (:id, :tenant, :name, :location)
                        ON CONFLICT (tenant, name) WHERE deleted_at IS NULL DO NOTHING
                        RETURNING %s""".formatted(COLUMNS))
                .bind("id", row.id())
                .bind("tenant", row.tenant())
                .bind("name", row.name())
                .bind("location", row.location())
                .map(VolumeTable::row)
                .findOne());
    }

    List<Row> list(String tenant) {
        return database.query(handle -> handle.createQuery("SELECT " + COLUMNS
                        + " FROM volumes WHERE tenant = :tenant AND deleted_at IS NULL ORDER BY created_at, id")
                .bind("tenant", tenant)
                .map(VolumeTable::row)
                .list());
    }

    long count(String tenant) {
        return database.query(handle -> handle.createQuery(
                        "SELECT count(*) FROM volumes WHERE tenant = :tenant AND deleted_at IS NULL")
                .bind("tenant", tenant)
                .mapTo(Long.class)
                .one());
    }

    /** Whoever's it is. */
    Optional<Row> find(String id) {
        return one("id = :it AND deleted_at IS NULL", id, "");
    }

    Optional<Row> named(String tenant, String name) {
        return one("name = :it AND tenant = :tenant AND deleted_at IS NULL", name, tenant);
    }

    private Optional<Row> one(String where, String it, String tenant) {
        return database.query(handle -> {
            var query = handle.createQuery("SELECT " + COLUMNS + " FROM volumes WHERE " + where)
                    .bind("it", it);
            return (tenant.isEmpty() ? query : query.bind("tenant", tenant))
                    .map(VolumeTable::row)
                    .findOne();
        });
    }

    /** Does something for which it has to be there; who hides it meanwhile waits. False if it is not there. */
    boolean whileThere(String id, Runnable action) {
        return database.transaction(handle -> {
            boolean there = handle.createQuery("SELECT id FROM volumes WHERE id = :id AND deleted_at IS NULL FOR SHARE")
                    .bind("id", id)
                    .mapTo(String.class)
                    .findOne()
                    .isPresent();
            if (there) {
                action.run();
            }
            return there;
        });
    }

    /** Hides it, unless a session has it. */
    boolean hide(String id) {
        return database.query(handle -> handle.createUpdate("""
                        UPDATE volumes SET deleted_at = now() WHERE id = :id AND NOT EXISTS (
                            SELECT FROM sessions WHERE state NOT IN ('deleting', 'destroyed')
                                AND NOT delete_requested
                                AND mounts @> jsonb_build_array(jsonb_build_object('volume', :id)))""").bind("id", id).execute()) > 0;
    }

    void show(String id) {
        database.query(handle -> handle.createUpdate("UPDATE volumes SET deleted_at = NULL WHERE id = :id")
                .bind("id", id)
                .execute());
    }

    void delete(String id) {
        database.query(handle -> handle.createUpdate("DELETE FROM volumes WHERE id = :id")
                .bind("id", id)
                .execute());
    }

    /** What a server that was killed had begun to remove. */
    List<Row> hidden(String location) {
        return database.query(handle -> handle.createQuery("SELECT " + COLUMNS
                        + " FROM volumes WHERE location = :location AND deleted_at < now() - interval '1 minute'")
                .bind("location", location)
                .map(VolumeTable::row)
                .list());
    }

    private static Row row(ResultSet row, StatementContext context) throws SQLException {
        return new Row(
                Objects.requireNonNull(row.getString("id")),
                Objects.requireNonNull(row.getString("tenant")),
                Objects.requireNonNull(row.getString("name")),
                Objects.requireNonNull(row.getString("location")));
    }
}
