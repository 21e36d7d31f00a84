/**
 * Channels: where people talk to the agents of sessions. Whatever the service is, a message becomes a run in the session of
 * its conversation, and what the run does is shown there, by the same code.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.channel;
