package dev.berth.gateway.egress;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How the way out of sandboxes finds and trusts what is outside.
 *
 * @param dns the server that names are asked of; this machine's usual ones if empty
 * @param authorities a file of certificates, as PEM, whose issuers are trusted besides the public ones
 * @param connect how long a server outside may take to accept a connection
 * @param answer how long it may take to begin to answer, and be silent in an answer
 * @param idle after which silence in both directions a connection is cut that nobody looks into
 */
public record OutboundConfig(
        Optional<InetSocketAddress> dns, Optional<Path> authorities, Duration connect, Duration answer, Duration idle) {
    public static final OutboundConfig DEFAULT = new OutboundConfig(
            Optional.empty(), Optional.empty(), Duration.ofSeconds(10), Duration.ofMinutes(10), Duration.ofHours(1));

    public OutboundConfig withDns(InetSocketAddress server) {
        return new OutboundConfig(Optional.of(server), authorities, connect, answer, idle);
    }

    public OutboundConfig withAuthorities(Path file) {
        return new OutboundConfig(dns, Optional.of(file), connect, answer, idle);
    }
}
