package dev.berth.cli.args;

import java.util.Locale;

/** Sizes as people write them: {@code 512m}, {@code 1g}, in powers of 1024. */
public final class Sizes {
    private static final String LETTERS = "kmgt";

    private Sizes() {}

    public static long parse(String text) {
        String size = text.toLowerCase(Locale.ROOT);
        int power = size.isEmpty() ? 0 : LETTERS.indexOf(size.charAt(size.length() - 1)) + 1;
        String digits = power == 0 ? size : size.substring(0, size.length() - 1);
        if (digits.isEmpty() || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new UsageException("'" + text + "' is not a size; write a number with k, m, g or t, such as 512m");
        }
        try {
            return Math.multiplyExact(Long.parseLong(digits), 1L << (10 * power));
        } catch (ArithmeticException | NumberFormatException e) {
            throw new UsageException("'" + text + "' is more than any machine has");
        }
    }

    public static String format(long bytes) {
        int power = 0;
        double value = bytes;
        while (value >= 1024 && power < LETTERS.length()) {
            value /= 1024;
            power++;
        }
        long tenths = Math.round(value * 10);
        String number = tenths % 10 == 0 || tenths >= 100 ? "" + Math.round(value) : tenths / 10 + "." + tenths % 10;
        return power == 0 ? number : number + LETTERS.charAt(power - 1);
    }
}
