package dev.berth.gateway.secret;

import dev.berth.sandbox.Destination.Domain;
import java.util.List;

/** Hosts to which the operator lets secrets go without TLS, so that whoever is on the way can read them. */
record PlainHosts(List<Domain> marked) {
    PlainHosts {
        marked = List.copyOf(marked);
    }

    boolean covers(Domain host) {
        return marked.stream().anyMatch(mine -> mine.equals(host) || mine.covers(host) || bothBelow(mine, host));
    }

    private static boolean bothBelow(Domain mine, Domain host) {
        return mine.below() && host.below() && host.name().endsWith("." + mine.name());
    }
}
