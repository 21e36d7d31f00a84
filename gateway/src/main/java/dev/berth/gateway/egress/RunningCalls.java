package dev.berth.gateway.egress;

import dev.berth.session.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Which calls run in each session now, so that it can be told during which of them something happened. */
public final class RunningCalls {
    /** Lists are never changed, only replaced. */
    private final Map<SessionKey, List<String>> running = new ConcurrentHashMap<>();

    /** A call that runs until this is closed. */
    public interface Running extends AutoCloseable {
        @Override
        void close();
    }

    public Running begin(SessionKey session, String call) {
        running.merge(session, List.of(call), (there, more) -> {
            List<String> all = new ArrayList<>(there);
            all.addAll(more);
            return List.copyOf(all);
        });
        return () -> running.computeIfPresent(session, (_, there) -> without(there, call));
    }

    private static @Nullable List<String> without(List<String> calls, String ended) {
        List<String> rest = new ArrayList<>(calls);
        rest.remove(ended);
        return rest.isEmpty() ? null : List.copyOf(rest);
    }

    /** By the ids of their requests, the oldest first. */
    public List<String> in(SessionKey session) {
        return running.getOrDefault(session, List.of());
    }
}
