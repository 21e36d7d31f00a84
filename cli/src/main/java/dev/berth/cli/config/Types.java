package dev.berth.cli.config;

import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** The kinds of values that settings have. */
final class Types {
    static final Type<String> HOST = Type.of("HOST", Types::host);
    static final Type<Integer> PORT = Type.of("PORT", Types::port);
    static final Type<Path> PATH = Type.of("PATH", Types::path);
    static final Type<String> CONTENT = Type.of("FILE", Types::content);
    static final Type<Long> SIZE = Type.of("SIZE", Sizes::parse);
    static final Type<Duration> TIME = Type.of("TIME", Durations::parse);
    static final Type<Integer> COUNT = Type.of("N", Option.atLeast(0));
    static final Type<Double> NUMBER = Type.of("NUMBER", Types::number);
    static final Type<Boolean> SWITCH = Type.of("true|false", Types::truth);
    static final Type<List<String>> WORDS = Type.of("NAME,…", Types::words);
    static final Type<Map<String, Integer>> COUNTS = new Type<>("NAME=N,…", true, Types::counts);

    private Types() {}

    /** One of some words, which are the names of an enum. */
    static <E extends Enum<E>> Type<E> oneOf(Class<E> type) {
        String all = Arrays.stream(type.getEnumConstants()).map(Types::word).collect(Collectors.joining("|"));
        return Type.of(
                all,
                text -> Arrays.stream(type.getEnumConstants())
                        .filter(it -> word(it).equals(text))
                        .findFirst()
                        .orElseThrow(() -> new UsageException("there is no '" + text + "' here; take "
                                + all.replaceAll("\\|(?!.*\\|)", " or ").replace("|", ", "))));
    }

    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    /** Text that has to pass a check of the part that it is for. */
    static <T> Type<T> checked(Type<T> type, UnaryOperator<T> check) {
        return new Type<>(
                type.label(), type.mapping(), text -> check.apply(type.reader().apply(text)));
    }

    static boolean truth(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true", "yes", "on", "1" -> true;
            case "false", "no", "off", "0" -> false;
            default -> throw new UsageException("'" + text + "' is neither true nor false");
        };
    }

    private static String host(String text) {
        if (!text.matches("[A-Za-z0-9.:_-]{1,253}")) {
            throw new UsageException("'" + text + "' is no address; write one such as 127.0.0.1, or 0.0.0.0 for all");
        }
        return text;
    }

    private static int port(String text) {
        if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) > 65_535) {
            throw new UsageException("'" + text + "' is no port; write 1 to 65535, or 0 for any that is free");
        }
        return Integer.parseInt(text);
    }

    private static Path path(String text) {
        try {
            return Path.of(text).toAbsolutePath().normalize();
        } catch (InvalidPathException e) {
            throw new UsageException("'" + text + "' cannot be a path");
        }
    }

    /** What a file says, without the newline at its end: for secrets, which do not belong into a setting. */
    private static String content(String text) {
        Path file = path(text);
        try {
            String content = Files.readString(file).strip();
            if (content.isEmpty()) {
                throw new UsageException(file + " is empty");
            }
            return content;
        } catch (IOException e) {
            throw new UsageException("could not read " + file + "; is it there, and text, and readable for this user?");
        }
    }

    private static double number(String text) {
        try {
            double number = Double.parseDouble(text);
            if (number >= 0 && number <= 1e9) {
                return number;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw new UsageException("'" + text + "' is not a number of at least 0");
    }

    private static List<String> words(String text) {
        return Arrays.stream(text.split(",")).map(String::strip).toList();
    }

    private static Map<String, Integer> counts(String text) {
        Map<String, Integer> counts = new TreeMap<>();
        for (String pair : text.split(",")) {
            String[] parts = pair.strip().split("=", 2);
            if (parts.length != 2 || !parts[1].matches("[0-9]{1,4}") || parts[0].isEmpty()) {
                throw new UsageException("'" + pair.strip() + "' is not a name and a number, such as base=2");
            }
            counts.put(parts[0], Integer.parseInt(parts[1]));
        }
        return counts;
    }
}
