package dev.berth.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.berth.session.SessionKey;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PlaceTest {
    @Test
    void aPlainPlaceIsReadableInItsSession() {
        assertThat(new Place("slack", "T1", "C1", "1712.0001").session()).isEqualTo("slack:T1:C1:1712.0001");
        assertThat(new Place("slack", "T1", "D1", "").session()).isEqualTo("slack:T1:D1");
    }

    @Test
    void everyPlaceHasASession() {
        for (String room : List.of("", " ", "../../etc", "größe/ünï", "a\nb", "x".repeat(5000), "\uD83D\uDE00", "~")) {
            String session = new Place("webhook", "w", room, "").session();
            assertThatCode(() -> SessionKey.of("default", session)).as(room).doesNotThrowAnyException();
        }
    }

    @Test
    void noTwoPlacesHaveTheSameSession() {
        assertThat(List.of(
                                new Place("webhook", "w", "a:b", ""),
                                new Place("webhook", "w", "a", "b"),
                                new Place("webhook", "w:a", "b", ""),
                                new Place("webhook", "w", "a/b", ""),
                                new Place("webhook", "w", "a b", ""),
                                new Place("webhook", "w", "", "a"),
                                new Place("webhook", "w", "a", ""),
                                new Place("webhook", "w", "x".repeat(300), ""),
                                new Place("webhook", "w", "x".repeat(301), ""))
                        .stream()
                        .map(Place::session))
                .doesNotHaveDuplicates();
    }
}
