package dev.berth.sandbox.local;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.guest.GuestLink;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The way out of one sandbox, by what its network says: a port on its loopback whose connections the guest carries to
 * the {@link Outlet}. Nothing else leads out of its net namespace.
 */
final class WayOut {
    private final Sandbox sandbox;
    private final Outlet outlet;

    WayOut(Sandbox sandbox, Outlet outlet) {
        this.sandbox = sandbox;
        this.outlet = outlet;
    }

    /** Refuses what this machine cannot enforce. */
    static void check(Network network) {
        if (network.mode() == Mode.OPEN) {
            throw SandboxException.unsupported("sandboxes of this machine have no network of mode " + network.mode()
                    + "; use mode " + Mode.RESTRICTED + " with rules for what they need");
        }
    }

    /** Listens for the guest, which is told its port when it connects. */
    GuestLink listen(String name, Path socket, String token, Network network) throws IOException {
        return GuestLink.listen(name, socket, token, port(network), this::take);
    }

    /** Keeps which network a sandbox has. */
    interface Keeping {
        void keep(Network network) throws IOException;
    }

    /**
     * Changes the network of a sandbox that may be running. What may be refused comes first, then what is kept, then
     * what ends connections: none that the new one forbids is made after that. A server that is killed in between gives
     * the guest what was kept when it is back.
     *
     * @param link to its guest; null for one that is stopped
     */
    void change(@Nullable GuestLink link, boolean frozen, Network before, Network after, Keeping keeping)
            throws IOException {
        if (link == null || (before.mode() == Mode.NONE && after.mode() == Mode.NONE)) {
            keeping.keep(after);
            return;
        }
        link.port(port(after), frozen);
        try {
            keeping.keep(after);
        } catch (IOException | RuntimeException e) {
            putBack(link, frozen, before, e);
            throw e;
        }
        if (!widens(before, after)) {
            link.cut();
        }
    }

    private static void putBack(GuestLink link, boolean frozen, Network before, Exception why) {
        try {
            link.port(port(before), frozen);
        } catch (SandboxException e) {
            why.addSuppressed(e);
        }
    }

    /** Whether everything that was allowed still is. */
    private static boolean widens(Network before, Network after) {
        return before.mode() == after.mode()
                && after.allow().containsAll(before.allow())
                && after.secrets().containsAll(before.secrets());
    }

    private void take(Connection connection) {
        outlet.take(sandbox, connection);
    }

    private static int port(Network network) {
        return network.mode() == Mode.NONE ? 0 : Outlet.PORT;
    }
}
