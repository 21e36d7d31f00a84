package dev.berth.egress.policy;

import dev.berth.sandbox.Network;
import java.util.List;
import java.util.Optional;

/**
 * What one sandbox may do on its way out, and who is told of what it did. Asked anew for every connection and every
 * request, so that a change counts from the next one on.
 */
public interface Policy {
    Network network();

    /** How the secrets that its network names are bound now. */
    List<Binding> bindings();

    /** The value of a secret, for one request. Empty if it is not there any more. */
    Optional<String> reveal(String secret);

    /** How many bytes it had carried in all when this server began to count. */
    long carried();

    /** Called when a visit is over, or was refused. Must not block for long. */
    void visited(Visit visit);

    /** Called when a secret was put into a request and the answer has begun. Must not block for long. */
    void used(Use use);
}
