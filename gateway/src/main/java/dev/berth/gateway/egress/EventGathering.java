package dev.berth.gateway.egress;

import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/**
 * Makes events of what a sandbox causes as fast as it likes. The same within a few seconds is one event with a count, and
 * a session has so many events of a kind in a minute at most; what is beyond that is summed up in one at its end, so that
 * nothing goes uncounted and no sandbox can fill the log.
 */
final class EventGathering {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final String SUMMED_UP = ".more";

    /**
     * What happened.
     *
     * @param most how many different ones of its type are told in a minute
     */
    record Happened(String type, Map<String, Object> facts, int most) {}

    private record Sum(long count, long sent, long received) {
        Sum plus(Sum more) {
            return new Sum(count + more.count, sent + more.sent, received + more.received);
        }
    }

    /** Of one session and type. Guarded by the map's lock of its key. */
    private static final class Page {
        final Instant began;
        final Map<Happened, Sum> gathered = new LinkedHashMap<>();
        int told;
        Sum beyond = new Sum(0, 0, 0);

        Page(Instant began) {
            this.began = began;
        }
    }

    private record Title(SessionKey session, String type) {}

    private final BiConsumer<SessionKey, SessionEvent> log;
    private final InstantSource clock;
    private final Map<Title, Page> pages = new ConcurrentHashMap<>();

    EventGathering(BiConsumer<SessionKey, SessionEvent> log, InstantSource clock) {
        this.log = log;
        this.clock = clock;
    }

    /** Does not wait for anything. */
    void add(SessionKey session, Happened happened, long sent, long received) {
        Sum one = new Sum(1, sent, received);
        pages.compute(new Title(session, happened.type()), (_, there) -> {
            Page page = there == null ? new Page(clock.instant()) : there;
            if (page.gathered.containsKey(happened) || page.told + page.gathered.size() < happened.most()) {
                page.gathered.merge(happened, one, Sum::plus);
            } else {
                page.beyond = page.beyond.plus(one);
            }
            return page;
        });
    }

    /** Tells what was gathered. */
    void flush() {
        Instant now = clock.instant();
        flush(now.minus(MINUTE));
    }

    /** Tells everything, as nobody will ask again. */
    void close() {
        flush(Instant.MAX);
    }

    private void flush(Instant over) {
        for (Title title : pages.keySet()) {
            pages.computeIfPresent(title, (_, page) -> {
                page.gathered.forEach((happened, sum) -> tell(title, title.type, happened.facts(), sum));
                page.told += page.gathered.size();
                page.gathered.clear();
                if (page.began.isAfter(over)) {
                    return page;
                }
                if (page.beyond.count > 0) {
                    tell(title, title.type + SUMMED_UP, Map.of(), page.beyond);
                }
                return null;
            });
        }
    }

    private void tell(Title title, String type, Map<String, Object> facts, Sum sum) {
        Map<String, Object> data = new HashMap<>(facts);
        data.put("count", sum.count);
        data.put("sent", sum.sent);
        data.put("received", sum.received);
        log.accept(title.session, new SessionEvent(type, SessionEvent.BERTH, data));
    }
}
