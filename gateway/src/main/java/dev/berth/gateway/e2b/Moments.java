package dev.berth.gateway.e2b;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/** Moments that clients write, as far as there can be anything of them: a database has fewer years than Java. */
final class Moments {
    private static final int LAST_YEAR = 9999;

    private Moments() {}

    /** @throws DateTimeException if it is none, or none that is near enough */
    static Instant read(String text) {
        OffsetDateTime moment = OffsetDateTime.parse(text).withOffsetSameInstant(ZoneOffset.UTC);
        if (moment.getYear() < 1 || moment.getYear() > LAST_YEAR) {
            throw new DateTimeException("the year is not between 1 and " + LAST_YEAR);
        }
        return moment.toInstant();
    }
}
