package dev.berth.cli.args;

import java.time.Duration;

/** Durations as people write them: {@code 30s}, {@code 5m}, {@code 1h}. */
public final class Durations {
    private Durations() {}

    public static Duration parse(String text) {
        int digits = 0;
        while (digits < text.length() && text.charAt(digits) >= '0' && text.charAt(digits) <= '9') {
            digits++;
        }
        if (digits == 0 || digits > 9) {
            throw wrong(text);
        }
        long count = Long.parseLong(text.substring(0, digits));
        Duration duration = switch (text.substring(digits)) {
            case "ms" -> Duration.ofMillis(count);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            case "d" -> Duration.ofDays(count);
            default -> throw wrong(text);
        };
        if (duration.isZero()) {
            throw new UsageException("'" + text + "' is no time at all; leave it out for no limit");
        }
        return duration;
    }

    private static UsageException wrong(String text) {
        return new UsageException(
                "'" + text + "' is not a duration; write a number with ms, s, m, h or d, such as 30s");
    }

    /** In the largest unit that says it roughly: {@code 45s}, {@code 3h}. */
    public static String format(Duration duration) {
        if (duration.toMillis() % 1000 != 0 && duration.toSeconds() < 10) {
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
