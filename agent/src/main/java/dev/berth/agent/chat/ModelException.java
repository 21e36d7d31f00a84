package dev.berth.agent.chat;

import java.time.Duration;
import java.util.Optional;

/** The model gave no answer. The message is a sentence for people, and never has a key in it. */
final class ModelException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What can be done about it. */
    enum Kind {
        /** It may work when tried again. */
        PASSING,
        /** What it was asked is longer than it can take. */
        TOO_LONG,
        /** It does not want to be asked this. */
        REFUSED,
        /** A person has to do something. */
        LASTING
    }

    private final Kind kind;
    private final transient Optional<Duration> after;

    ModelException(Kind kind, String message) {
        this(kind, message, Optional.empty());
    }

    /** @param after how long to wait before it is tried again, if the model said so */
    ModelException(Kind kind, String message, Optional<Duration> after) {
        super(message);
        this.kind = kind;
        this.after = after;
    }

    Kind kind() {
        return kind;
    }

    Optional<Duration> after() {
        return after;
    }

    /** Never null, as every constructor takes one. */
    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }
}
