package dev.berth.egress;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The addresses of this machine. They are looked up anew after some seconds: interfaces come and go. */
public final class OwnAddresses implements Supplier<Collection<InetAddress>> {
    private static final long FRESH = Duration.ofSeconds(5).toNanos();

    private record Found(Set<InetAddress> addresses, long at) {}

    private volatile Found found = look();

    @Override
    public Set<InetAddress> get() {
        Found now = found;
        if (System.nanoTime() - now.at > FRESH) {
            now = look();
            found = now;
        }
        return now.addresses;
    }

    private static Found look() {
        try {
            Set<InetAddress> addresses = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .collect(Collectors.toUnmodifiableSet());
            return new Found(addresses, System.nanoTime());
        } catch (SocketException e) {
            // Not to know them and to go on would open what has to be closed.
            throw new IllegalStateException("the addresses of this machine could not be read", e);
        }
    }
}
