package dev.berth.gateway.mcp;

import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Optional;
import java.util.Set;

/**
 * Which web pages may ask. A page whose name is made to point at this machine sends its own name as the origin, so only
 * names that always mean this machine are taken; programs send no origin.
 */
final class Origins {
    private static final Set<String> THIS_MACHINE = Set.of("localhost", "127.0.0.1", "[::1]");

    private Origins() {}

    static void check(Optional<String> origin) {
        if (origin.isPresent()
                && !host(origin.get()).filter(THIS_MACHINE::contains).isPresent()) {
            throw SandboxException.denied("pages of this origin may not use MCP here; only those of localhost may");
        }
    }

    private static Optional<String> host(String origin) {
        try {
            return Optional.ofNullable(new URI(origin).getHost());
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }
}
