package dev.berth.cli.args;

/** The command line cannot be understood. The message is for the person who typed it. */
public final class UsageException extends RuntimeException {
    public UsageException(String message) {
        super(message);
    }
}
