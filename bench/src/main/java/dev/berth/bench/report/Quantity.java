package dev.berth.bench.report;

import java.util.Locale;

/** A number with its unit. */
public record Quantity(double value, Unit unit) {
    /** What can be measured here. */
    public enum Unit {
        MICROSECONDS("µs"),
        MILLISECONDS("ms"),
        PER_SECOND("/s"),
        BYTES("B"),
        MEGABYTES("MB"),
        MEGABYTES_PER_SECOND("MB/s");

        private final String symbol;

        Unit(String symbol) {
            this.symbol = symbol;
        }

        public String symbol() {
            return symbol;
        }
    }

    public static Quantity millis(double value) {
        return new Quantity(value, Unit.MILLISECONDS);
    }

    public static Quantity micros(double value) {
        return new Quantity(value, Unit.MICROSECONDS);
    }

    public static Quantity bytes(double value) {
        return new Quantity(value, Unit.BYTES);
    }

    public static Quantity megabytes(double value) {
        return new Quantity(value, Unit.MEGABYTES);
    }

    /** Three digits that mean something: 0.123, 1.23, 12.3, 123, 1234. */
    public static String digits(double value) {
        double size = Math.abs(value);
        int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 || size == 0 ? 2 : 3;
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    @Override
    public String toString() {
        return digits(value) + " " + unit.symbol();
    }
}
