package dev.berth.egress.http;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Target;
import java.net.InetAddress;
import java.util.Set;

/**
 * What may share connections to a server outside: requests of one sandbox, for one target, at the addresses that were
 * checked for it.
 *
 * @param account one per sandbox
 */
record Lane(Account account, Target target, boolean tls, Set<InetAddress> addresses) {
    Lane {
        addresses = Set.copyOf(addresses);
    }
}
