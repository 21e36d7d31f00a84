package dev.berth.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.util.Map;
import org.slf4j.Logger;

/**
 * Where log lines go: to stderr, warnings and worse, or from the level that {@code BERTH_LOG} names; as text, or as JSON
 * if {@code BERTH_LOG_FORMAT} is {@code json}. In code because reading logback's XML takes longer than the rest of our
 * start. Found by logback as a service.
 */
public final class LogToStderr extends ContextAwareBase implements Configurator {
    @Override
    public ExecutionStatus configure(LoggerContext context) {
        Map<String, String> env = System.getenv();
        ConsoleAppender<ILoggingEvent> stderr = new ConsoleAppender<>();
        stderr.setContext(context);
        stderr.setTarget("System.err");
        stderr.setEncoder(encoder(context, env.getOrDefault("BERTH_LOG_FORMAT", "text")));
        stderr.start();
        var root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.toLevel(env.getOrDefault("BERTH_LOG", "warn"), Level.WARN));
        root.addAppender(stderr);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    static Encoder<ILoggingEvent> encoder(LoggerContext context, String format) {
        Encoder<ILoggingEvent> encoder = format.equals("json") ? new JsonLines() : text();
        encoder.setContext(context);
        encoder.start();
        return encoder;
    }

    private static Encoder<ILoggingEvent> text() {
        PatternLayoutEncoder lines = new PatternLayoutEncoder();
        lines.setPattern(
                "berth: %level %logger{0}: %msg%replace( %kvp{NONE}){' $', ''}%replace( correlation=%X{correlation}){' correlation=$', ''}%n");
        return lines;
    }
}
