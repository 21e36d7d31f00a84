package dev.berth.channel;

import java.time.Instant;
import java.util.List;

/** What people do in a channel, told by it. Everything returns soon; what takes longer is shown by the channel later. */
public interface Inbox {
    /** What became of a message. */
    enum Received {
        /** A run begins. */
        BEGUN,
        /** A run that goes on takes it up. */
        STEERED,
        /** It came before. */
        KNOWN,
        /** This person, or this place, may not. */
        NOT_ALLOWED,
        /** This person asks too much at a time. */
        TOO_MANY
    }

    /** How somebody decides about a {@link Board.Card}. */
    enum Answer {
        ONCE,
        ALWAYS,
        DENY
    }

    /** A message. It is written down before this returns. */
    Received message(Incoming message);

    /** Whether a conversation has begun there, so that a message in it needs no mention. */
    boolean knows(Place place);

    /** Ends the run that goes on there. Returns whether there was one. */
    boolean stop(Place place, Person person);

    /**
     * Decides about a card.
     *
     * @return what to tell this person alone: empty, or why it was not done
     */
    String decide(Place place, String approval, Person person, Answer answer);

    /**
     * A command such as {@code status} or {@code rollback 3}.
     *
     * @return the answer, for this person, as Markdown
     */
    String command(Place place, Person person, String text);

    /** The conversations of a person, the last used first. */
    List<Overview> overview(String channel, String workspace, Person person);

    /** One of them. */
    record Overview(Place place, String title, String state, Instant lastActivity) {}
}
