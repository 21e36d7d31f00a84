package dev.berth.session;

import static dev.berth.session.TestingSessions.key;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** What operators see. Needs root and crun. */
class JournalTest {
    @Test
    void tellsWhatHappensUnderStableNamesWithTheSessionAndTheRequest() {
        Logger logger = (Logger) LoggerFactory.getLogger("dev.berth.session");
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.list = new CopyOnWriteArrayList<>();
        lines.start();
        Level before = logger.getLevel();
        logger.setLevel(Level.DEBUG);
        logger.setAdditive(false);
        logger.addAppender(lines);
        MDC.put("correlation", "request-7");
        try (TestingSessions server = new TestingSessions()) {
            server.run("seen", "true");
            server.sessions().pause(key("seen"));
            server.run("seen", "true");
            server.restart();
            server.run("seen", "true");
            server.sandbox("seen").orElseThrow().destroy();
            server.run("seen", "true");

            List<ILoggingEvent> own = lines.list.stream()
                    .filter(line -> facts(line).contains("session=seen"))
                    .toList();
            assertThat(own.stream().map(ILoggingEvent::getMessage))
                    .containsSubsequence(
                            "sandbox.resolve.start",
                            "sandbox.resolve.create",
                            "sandbox.pause",
                            "sandbox.resume",
                            "sandbox.resolve.reuse",
                            "sandbox.resolve.recreate");
            assertThat(own)
                    .allSatisfy(line -> assertThat(line.getMDCPropertyMap())
                            .as(line.getMessage())
                            .containsEntry("correlation", "request-7"));
            for (String counted : List.of("sandbox.resolve.create", "sandbox.resume", "sandbox.resolve.recreate")) {
                assertThat(server.meters()
                                .get("berth.session.events")
                                .tag("type", counted)
                                .counter()
                                .count())
                        .as(counted)
                        .isEqualTo(1);
            }
            assertThat(server.meters()
                            .get("berth.session.transition")
                            .tag("transition", "resolve")
                            .timer()
                            .count())
                    .isEqualTo(4);
            assertThat(server.meters()
                            .get("berth.provider.disk.used.bytes")
                            .gauge()
                            .value())
                    .isPositive();
            assertThat(server.meters().get("berth.provider.warm.misses").gauge().value())
                    .isPositive();
        } finally {
            MDC.remove("correlation");
            logger.detachAppender(lines);
            logger.setAdditive(true);
            logger.setLevel(before);
        }
    }

    private static String facts(ILoggingEvent line) {
        return line.getKeyValuePairs() == null
                ? ""
                : line.getKeyValuePairs().stream()
                        .map(pair -> pair.key + "=" + pair.value)
                        .collect(Collectors.joining(" "));
    }
}
