package dev.berth.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.util.Optional;
import org.slf4j.Logger;

/**
 * Where log lines go: to stderr, warnings and worse, or from the level that {@code BERTH_LOG} names. In code because
 * reading logback's XML takes longer than the rest of our start. Found by logback as a service.
 */
public final class LogToStderr extends ContextAwareBase implements Configurator {
    @Override
    public ExecutionStatus configure(LoggerContext context) {
        PatternLayoutEncoder lines = new PatternLayoutEncoder();
        lines.setContext(context);
        lines.setPattern("berth: %level %logger{0}: %msg%n");
        lines.start();
        ConsoleAppender<ILoggingEvent> stderr = new ConsoleAppender<>();
        stderr.setContext(context);
        stderr.setTarget("System.err");
        stderr.setEncoder(lines);
        stderr.start();
        var root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(
                Level.toLevel(Optional.ofNullable(System.getenv("BERTH_LOG")).orElse("warn"), Level.WARN));
        root.addAppender(stderr);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
