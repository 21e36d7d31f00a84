/** Channels, as the gateway has them: the addresses that services call, and what conversations need of everything else. */
@org.jspecify.annotations.NullMarked
package dev.berth.gateway.channel;
