package dev.berth.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads durations such as {@code 30s}, {@code 5m} or {@code 1h}. */
final class DurationConverter implements ITypeConverter<Duration> {
    private static final Pattern SHAPE = Pattern.compile("([0-9]{1,9})(ms|s|m|h|d)");

    @Override
    public Duration convert(String value) {
        Matcher duration = SHAPE.matcher(value);
        if (!duration.matches()) {
            throw new TypeConversionException(
                    "'" + value + "' is not a duration; write a number with ms, s, m, h or d, such as 30s");
        }
        long count = Long.parseLong(duration.group(1));
        if (count == 0) {
            throw new TypeConversionException("'" + value + "' is no time at all; leave it out for no limit");
        }
        return switch (duration.group(2)) {
            case "ms" -> Duration.ofMillis(count);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
    }

    /** The other way, in the largest unit that says it roughly: {@code 45s}, {@code 3h}. */
    static String format(Duration duration) {
        if (duration.toSeconds() < 1 && duration.toMillis() > 0) {
            return duration.toMillis() + "ms";
        } else if (duration.toSeconds() < 120) {
            return duration.toSeconds() + "s";
        } else if (duration.toMinutes() < 120) {
            return duration.toMinutes() + "m";
        } else if (duration.toHours() < 48) {
            return duration.toHours() + "h";
        }
        return duration.toDays() + "d";
    }
}
