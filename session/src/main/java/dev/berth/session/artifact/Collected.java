package dev.berth.session.artifact;

import java.util.List;
import java.util.Optional;

/**
 * What was found after a run.
 *
 * @param made the new artifacts, in the order of the folders
 * @param note what else lay there and was not taken, and why
 */
public record Collected(List<Artifact> made, Optional<String> note) {
    public static final Collected NOTHING = new Collected(List.of(), Optional.empty());

    public Collected {
        made = List.copyOf(made);
    }

    static Collected failed(String why) {
        return new Collected(List.of(), Optional.of(why));
    }
}
