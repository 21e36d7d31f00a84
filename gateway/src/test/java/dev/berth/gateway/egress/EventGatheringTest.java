package dev.berth.gateway.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.egress.EventGathering.Happened;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EventGatheringTest {
    private static final SessionKey ONE = SessionKey.of("acme", "one");
    private static final SessionKey TWO = SessionKey.of("acme", "two");

    private record Told(SessionKey session, String type, Map<String, Object> data) {}

    private final List<Told> told = new ArrayList<>();
    private Instant now = Instant.parse("2026-01-01T00:00:00Z");
    private final EventGathering gathering = new EventGathering(this::tell, () -> now);

    private void tell(SessionKey session, SessionEvent event) {
        told.add(new Told(session, event.type(), event.data()));
    }

    private static Happened to(String host) {
        return new Happened("egress.visit", Map.of("host", host), 3);
    }

    @Test
    void theSameIsToldOnceWithACountAndTheSumOfItsBytes() {
        gathering.add(ONE, to("a"), 10, 100);
        gathering.add(ONE, to("a"), 1, 2);
        gathering.add(ONE, to("b"), 0, 0);
        gathering.add(TWO, to("a"), 5, 5);
        assertThat(told).isEmpty();
        gathering.flush();
        assertThat(told)
                .containsExactlyInAnyOrder(
                        new Told(ONE, "egress.visit", Map.of("host", "a", "count", 2L, "sent", 11L, "received", 102L)),
                        new Told(ONE, "egress.visit", Map.of("host", "b", "count", 1L, "sent", 0L, "received", 0L)),
                        new Told(TWO, "egress.visit", Map.of("host", "a", "count", 1L, "sent", 5L, "received", 5L)));
        gathering.flush();
        assertThat(told).hasSize(3);
    }

    @Test
    void aFloodIsSummedUpAtTheEndOfTheMinuteAndNothingGoesUncounted() {
        for (int i = 0; i < 1000; i++) {
            gathering.add(ONE, to("host-" + i), 1, 1);
            if (i % 100 == 0) {
                gathering.flush();
            }
        }
        gathering.flush();
        assertThat(told).hasSize(3);
        now = now.plus(Duration.ofSeconds(61));
        gathering.flush();
        assertThat(told).hasSize(4);
        assertThat(told.getLast())
                .isEqualTo(new Told(ONE, "egress.visit.more", Map.of("count", 997L, "sent", 997L, "received", 997L)));
        gathering.add(ONE, to("new"), 0, 0);
        gathering.flush();
        assertThat(told).hasSize(5);
    }

    @Test
    void oneKindThatIsFloodedHidesNoOther() {
        for (int i = 0; i < 100; i++) {
            gathering.add(ONE, to("host-" + i), 0, 0);
        }
        gathering.add(ONE, new Happened("secret.used", Map.of("secret", "KEY"), 3), 0, 0);
        gathering.flush();
        assertThat(told).anyMatch(event -> event.type().equals("secret.used"));
    }

    @Test
    void closingTellsWhatIsLeft() {
        for (int i = 0; i < 5; i++) {
            gathering.add(ONE, to("host-" + i), 0, 0);
        }
        gathering.close();
        assertThat(told).hasSize(4);
        assertThat(told.getLast().data()).containsEntry("count", 2L);
    }
}
