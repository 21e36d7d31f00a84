package dev.berth.tool;

import dev.berth.sandbox.Change;
import dev.berth.session.Session;
import dev.berth.session.Turns;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * Tells which files a call created, modified and deleted: the sandbox's files are kept before it, compared after it, and
 * let go. The point has a row of the session, which keeps the settlement of leftovers from taking it away meanwhile.
 *
 * <p>It is the whole sandbox that is compared, so what others change in the same time is among it.
 */
final class ChangeWatch {
    private final Turns turns;

    ChangeWatch(Turns turns) {
        this.turns = turns;
    }

    <T> T around(Session session, Supplier<T> call, BiFunction<T, List<Change>, T> with) {
        try (Turns.Point before = turns.point(session, OptionalInt.empty())) {
            T result = call.get();
            return with.apply(result, session.sandbox().changesSince(before.id()));
        }
    }
}
