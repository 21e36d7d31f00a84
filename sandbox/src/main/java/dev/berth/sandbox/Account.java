package dev.berth.sandbox;

/**
 * A user of a sandbox, with ids as the sandbox sees them.
 *
 * @param home absolute; {@code /} for a user who has none
 */
public record Account(String name, int uid, int gid, String home) {}
