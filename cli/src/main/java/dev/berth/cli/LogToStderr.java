package dev.berth.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import dev.berth.cli.config.Settings.LogFormat;
import dev.berth.cli.config.Settings.LogLevel;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(stderr);
        level(context, Level.toLevel(env.getOrDefault("BERTH_LOG", "warn"), Level.WARN));
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    /** From now on, for a program that has other ways to be told than by its environment. */
    static void use(LogLevel wanted, LogFormat format) {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        level(context, Level.toLevel(wanted.name()));
        context.getLogger(Logger.ROOT_LOGGER_NAME).iteratorForAppenders().forEachRemaining(appender -> {
            if (appender instanceof ConsoleAppender<ILoggingEvent> stderr) {
                stderr.setEncoder(encoder(context, format.name().toLowerCase(Locale.ROOT)));
            }
        });
    }

    /** What libraries have to say at info is about themselves, so that they are asked for less. */
    private static void level(LoggerContext context, Level level) {
        context.getLogger("dev.berth").setLevel(level);
        context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(level.equals(Level.INFO) ? Level.WARN : level);
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
