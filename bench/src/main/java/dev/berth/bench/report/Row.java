package dev.berth.bench.report;

import java.util.Optional;

/**
 * One line of the report.
 *
 * @param what in the words of DESIGN's table
 * @param measured what Berth does
 * @param against what it is compared with, empty if with nothing
 * @param compared what that does
 * @param must what is asked of it, if anything
 */
public record Row(String what, Quantity measured, String against, Optional<Quantity> compared, Optional<Must> must) {

    /** What a line means for the promise it is about. */
    public enum Verdict {
        MET("met"),
        NOT_MET("NOT MET"),
        /** Told for information. */
        NONE("");

        private final String text;

        Verdict(String text) {
            this.text = text;
        }

        public String text() {
            return text;
        }
    }

    public static Row of(String what, Quantity measured) {
        return new Row(what, measured, "", Optional.empty(), Optional.empty());
    }

    public static Row compare(String what, Quantity measured, String against, Quantity compared) {
        return new Row(what, measured, against, Optional.of(compared), Optional.empty());
    }

    public Row must(Must asked) {
        return new Row(what, measured, against, compared, Optional.of(asked));
    }

    public Optional<Double> ratio() {
        return compared.map(other -> measured.value() / other.value());
    }

    public Verdict verdict() {
        return must.map(asked -> asked.isMet(this) ? Verdict.MET : Verdict.NOT_MET)
                .orElse(Verdict.NONE);
    }
}
