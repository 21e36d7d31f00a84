/** Any chat system as a channel, by HTTP: it posts what people say, signed, and is posted what there is to see. */
@org.jspecify.annotations.NullMarked
package dev.berth.channel.webhook;
