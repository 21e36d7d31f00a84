package dev.berth.channel;

import java.time.Duration;
import java.util.Optional;

/** A service did not do what it was asked for. */
public final class ChannelException extends RuntimeException {
    private final boolean lasting;
    private final Optional<Duration> retryAfter;

    /** @param lasting whether asking again would be of no use: the place is gone, or access was taken away */
    public ChannelException(String message, boolean lasting) {
        super(message);
        this.lasting = lasting;
        this.retryAfter = Optional.empty();
    }

    /** @param retryAfter before this it is of no use */
    public ChannelException(String message, Duration retryAfter) {
        super(message);
        this.lasting = false;
        this.retryAfter = Optional.of(retryAfter);
    }

    public ChannelException(String message, Throwable cause) {
        super(message, cause);
        this.lasting = false;
        this.retryAfter = Optional.empty();
    }

    public boolean lasting() {
        return lasting;
    }

    public Optional<Duration> retryAfter() {
        return retryAfter;
    }
}
