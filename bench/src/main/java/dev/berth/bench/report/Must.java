package dev.berth.bench.report;

import java.util.Locale;

/** What DESIGN's table of speed and size asks of a number. */
public sealed interface Must {
    boolean isMet(Row row);

    /** How the table says it. */
    String text();

    /** Takes at most so many times what it is compared with. */
    record AtMostTimes(double factor) implements Must {
        @Override
        public boolean isMet(Row row) {
            return row.ratio().orElseThrow() <= factor;
        }

        @Override
        public String text() {
            return "<= " + shortest(factor) + " x";
        }
    }

    /** Is at least so many times what it is compared with. */
    record AtLeastTimes(double factor) implements Must {
        @Override
        public boolean isMet(Row row) {
            return row.ratio().orElseThrow() >= factor;
        }

        @Override
        public String text() {
            return ">= " + shortest(factor) + " x";
        }
    }

    /** Is so many times faster than what it is compared with. */
    record TimesFaster(double factor) implements Must {
        @Override
        public boolean isMet(Row row) {
            return 1 / row.ratio().orElseThrow() >= factor;
        }

        @Override
        public String text() {
            return ">= " + shortest(factor) + " x faster";
        }
    }

    /** Stays within a fixed bound, whatever the machine. */
    record AtMost(Quantity bound) implements Must {
        @Override
        public boolean isMet(Row row) {
            return row.measured().value() <= bound.value();
        }

        @Override
        public String text() {
            return "<= " + shortest(bound.value()) + " " + bound.unit().symbol();
        }
    }

    private static String shortest(double number) {
        return number == Math.rint(number)
                ? String.format(Locale.ROOT, "%.0f", number)
                : String.format(Locale.ROOT, "%s", number);
    }
}
