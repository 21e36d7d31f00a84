/** Slack as a channel: mentions, threads, direct messages and the assistant panel, over Socket Mode or HTTP. */
@org.jspecify.annotations.NullMarked
package dev.berth.channel.slack;
