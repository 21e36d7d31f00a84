package dev.berth.channel;

/**
 * Somebody who uses a channel.
 *
 * @param id as the service has it; it never changes
 * @param name by which others know them
 */
public record Person(String id, String name) {}
