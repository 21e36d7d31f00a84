package dev.berth.cli.doctor;

/**
 * One thing that was looked at.
 *
 * @param found what is there, in a few words
 * @param fix what to do about it, empty if nothing
 */
public record Finding(String name, Status status, String found, String fix) {

    /** How good it is. */
    public enum Status {
        GOOD,
        /** Something is slower, or some feature cannot be used. */
        LACKING,
        /** Sandboxes cannot run here. */
        BAD
    }

    static Finding good(String name, String found) {
        return new Finding(name, Status.GOOD, found, "");
    }

    static Finding lacking(String name, String found, String fix) {
        return new Finding(name, Status.LACKING, found, fix);
    }

    static Finding bad(String name, String found, String fix) {
        return new Finding(name, Status.BAD, found, fix);
    }
}
