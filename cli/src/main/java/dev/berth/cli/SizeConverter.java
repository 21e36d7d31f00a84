package dev.berth.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads sizes such as {@code 512m} or {@code 1g}, in powers of 1024. */
final class SizeConverter implements ITypeConverter<Long> {
    private static final Pattern SHAPE = Pattern.compile("([0-9]{1,15})([kmgt]?)b?");

    @Override
    public Long convert(String value) {
        Matcher size = SHAPE.matcher(value.toLowerCase(Locale.ROOT));
        if (!size.matches()) {
            throw new TypeConversionException(
                    "'" + value + "' is not a size; write a number with k, m, g or t, such as 512m");
        }
        try {
            return Math.multiplyExact(Long.parseLong(size.group(1)), unit(size.group(2)));
        } catch (ArithmeticException e) {
            throw new TypeConversionException("'" + value + "' is more than any machine has");
        }
    }

    private static long unit(String letter) {
        return switch (letter) {
            case "k" -> 1L << 10;
            case "m" -> 1L << 20;
            case "g" -> 1L << 30;
            case "t" -> 1L << 40;
            default -> 1;
        };
    }

    /** The other way: {@code 512m}, {@code 1.5g}. */
    static String format(long bytes) {
        String[] letters = {"", "k", "m", "g", "t"};
        double value = bytes;
        int letter = 0;
        while (value >= 1024 && letter < letters.length - 1) {
            value /= 1024;
            letter++;
        }
        String number = String.format(Locale.ROOT, value < 10 ? "%.1f" : "%.0f", value);
        return (number.endsWith(".0") ? number.substring(0, number.length() - 2) : number) + letters[letter];
    }
}
