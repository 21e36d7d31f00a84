package dev.berth.gateway.config;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jdbi.v3.core.statement.Update;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Seals with the newest key what was sealed with an older one, so that the older one can go. */
public final class Resealing {
    private static final Logger LOG = LoggerFactory.getLogger(Resealing.class);
    private static final int AT_ONCE = 200;
    /** For a server that does not know the newest key and goes on writing with an older one. */
    private static final int MOST_PASSES = 10;

    /** @param unopened rows that no key opens; they stay as they are */
    public record Done(long resealed, long unopened) {
        Done plus(Done other) {
            return new Done(resealed + other.resealed, unopened + other.unopened);
        }
    }

    private record Row(List<String> key, byte[] sealed) {}

    private final Database database;
    private final Sealer sealer;
    private final List<SealedColumn> columns;

    public Resealing(Database database, Sealer sealer, List<SealedColumn> columns) {
        this.database = database;
        this.sealer = sealer;
        this.columns = List.copyOf(columns);
    }

    /**
     * Goes through everything, and again until nothing is left: somebody who had begun to write before the newest key was
     * there may end only now.
     */
    public Done run() {
        Done all = new Done(0, 0);
        for (int pass = 0; pass < MOST_PASSES; pass++) {
            Done now = pass();
            all = new Done(all.resealed() + now.resealed(), now.unopened());
            if (now.resealed() == 0) {
                break;
            }
        }
        if (all.unopened() > 0) {
            LOG.atWarn().addKeyValue("rows", all.unopened()).log("reseal.unopened");
        }
        if (all.resealed() > 0) {
            LOG.atInfo().addKeyValue("rows", all.resealed()).log("reseal.done");
        }
        return all;
    }

    private Done pass() {
        Done done = new Done(0, 0);
        for (SealedColumn column : columns) {
            done = done.plus(run(column));
        }
        return done;
    }

    /** What was done is found no more; what could not be done is passed over, or this would never end. */
    private Done run(SealedColumn column) {
        Done done = new Done(0, 0);
        while (!Thread.currentThread().isInterrupted()) {
            List<Row> rows = older(column, done.unopened());
            for (Row row : rows) {
                done = done.plus(reseal(column, row) ? new Done(1, 0) : new Done(0, 1));
            }
            if (rows.size() < AT_ONCE) {
                break;
            }
        }
        return done;
    }

    private List<Row> older(SealedColumn column, long passedOver) {
        String key = column.key().stream().map(name -> name + "::text").collect(Collectors.joining(", "));
        int count = column.key().size();
        return database.query(handle -> handle.createQuery(
                        """
                        SELECT %1$s, %2$s FROM %3$s
                        WHERE %2$s IS NOT NULL AND substring(%2$s FROM 1 FOR %4$d) <> :header
                        ORDER BY %1$s OFFSET :over LIMIT :most""".formatted(key, column.column(), column.table(), sealer.header().length))
                .bind("header", sealer.header())
                .bind("over", passedOver)
                .bind("most", AT_ONCE)
                .map((row, _) -> {
                    List<String> values = new ArrayList<>();
                    for (int i = 1; i <= count; i++) {
                        values.add(row.getString(i));
                    }
                    return new Row(values, row.getBytes(count + 1));
                })
                .list());
    }

    private boolean reseal(SealedColumn column, Row row) {
        String place = column.place().apply(row.key());
        String text;
        try {
            text = sealer.open(place, row.sealed());
        } catch (SandboxException e) {
            return false; // counted, and told in the end
        }
        String where = IntStream.range(0, column.key().size())
                .mapToObj(i -> column.key().get(i) + "::text = :key" + i)
                .collect(Collectors.joining(" AND "));
        database.query(handle -> {
            Update update = handle.createUpdate(
                            // Whoever has written it meanwhile has sealed it with the newest key.
                            "UPDATE %1$s SET %2$s = :after WHERE %3$s AND %2$s = :before"
                                    .formatted(column.table(), column.column(), where))
                    .bind("after", sealer.seal(place, text))
                    .bind("before", row.sealed());
            for (int i = 0; i < row.key().size(); i++) {
                update.bind("key" + i, row.key().get(i));
            }
            return update.execute();
        });
        return true;
    }
}
