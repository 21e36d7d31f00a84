package dev.berth.gateway.egress;

import dev.berth.sandbox.Destination.Cidr;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * How the way out of sandboxes finds and trusts what is outside.
 *
 * @param dns the server that names are asked of; this machine's usual ones if empty
 * @param authorities a file of certificates, as PEM, whose issuers are trusted besides the public ones
 * @param ranges of the addresses that are not public, which ones sessions may be allowed to reach; all if empty
 * @param connect how long a server outside may take to accept a connection
 * @param answer how long it may take to begin to answer, and be silent in an answer
 * @param idle after which silence in both directions a connection is cut that nobody looks into
 */
public record OutboundConfig(
        Optional<InetSocketAddress> dns,
        Optional<Path> authorities,
        Optional<List<Cidr>> ranges,
        Duration connect,
        Duration answer,
        Duration idle) {
    public static final OutboundConfig DEFAULT = new OutboundConfig(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Duration.ofSeconds(10),
            Duration.ofMinutes(10),
            Duration.ofHours(1));

    public OutboundConfig withDns(InetSocketAddress server) {
        return new OutboundConfig(Optional.of(server), authorities, ranges, connect, answer, idle);
    }

    public OutboundConfig withAuthorities(Path file) {
        return new OutboundConfig(dns, Optional.of(file), ranges, connect, answer, idle);
    }

    public OutboundConfig withRanges(List<Cidr> open) {
        return new OutboundConfig(dns, authorities, Optional.of(open), connect, answer, idle);
    }
}
