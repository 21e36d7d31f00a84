package dev.berth.channel;

import java.util.List;
import java.util.Optional;

/**
 * All that is to be seen of one run, now. A channel makes its place look like this; it does not matter how often, nor what
 * was skipped in between.
 *
 * @param requester who asked
 * @param status what it is busy with; empty if text or a step says that better
 * @param text its answer so far, as Markdown
 * @param steps uses of tools, in their order: the last ones, if there were many
 * @param earlierSteps how many came before those
 */
public record Board(
        String run,
        Person requester,
        String status,
        String text,
        List<Step> steps,
        int earlierSteps,
        List<Card> cards,
        List<Shown> files,
        Optional<End> end) {

    /** One use of a tool. */
    public record Step(String call, String title, State state, String output) {
        /** How far it is. */
        public enum State {
            RUNNING,
            DONE,
            FAILED
        }
    }

    /**
     * Something that a person has to allow.
     *
     * @param detail what exactly, such as a command
     */
    public record Card(
            String approval, String tool, String title, String detail, Decision state, Optional<String> decidedBy) {
        /** What became of it. */
        public enum Decision {
            REQUESTED,
            APPROVED,
            DENIED,
            EXPIRED
        }
    }

    /** A file for people. Its content is asked for by {@link Files}. */
    public record Shown(String artifact, String name, String title, String mimeType, long size) {}

    /**
     * It is over.
     *
     * @param ok whether it came to an end by itself
     * @param note what to say besides the answer: why it failed and what to do, that it was stopped
     */
    public record End(boolean ok, Optional<String> note) {}
}
