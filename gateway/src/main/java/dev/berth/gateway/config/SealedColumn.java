package dev.berth.gateway.config;

import java.util.List;
import java.util.function.Function;

/**
 * A column whose texts are sealed.
 *
 * @param key columns that name a row
 * @param place for which the text of a row is sealed, by the values of those columns as text
 */
public record SealedColumn(String table, List<String> key, String column, Function<List<String>, String> place) {
    public SealedColumn {
        key = List.copyOf(key);
    }
}
