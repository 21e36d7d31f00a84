package dev.berth.channel;

/** A service did not do what it was asked for. */
public final class ChannelException extends RuntimeException {
    private final boolean lasting;

    /** @param lasting whether asking again would be of no use: the place is gone, or access was taken away */
    public ChannelException(String message, boolean lasting) {
        super(message);
        this.lasting = lasting;
    }

    public ChannelException(String message, Throwable cause) {
        super(message, cause);
        this.lasting = false;
    }

    public boolean lasting() {
        return lasting;
    }
}
