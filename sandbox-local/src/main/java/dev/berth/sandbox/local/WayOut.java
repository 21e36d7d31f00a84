package dev.berth.sandbox.local;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.guest.GuestLink;
import dev.berth.sandbox.local.network.OpenNetwork;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way out of one sandbox, by what its network says: a port on its loopback whose connections the guest carries to
 * the {@link Outlet}. Nothing else leads out of its net namespace, unless the network is open: then there is an
 * interface as well.
 */
final class WayOut {
    private static final Logger LOG = LoggerFactory.getLogger(WayOut.class);
    private static final String RESOLV_CONF = "/etc/resolv.conf";
    private static final int LONGEST_RESOLV_CONF = 64 * 1024;

    private final Sandbox sandbox;
    private final Outlet outlet;
    private final OpenNetwork internet;
    private final String box;
    private final Processes processes;

    /** Tells the processes of the sandbox as the machine numbers them. */
    interface Processes {
        List<Integer> pids() throws IOException;
    }

    WayOut(Sandbox sandbox, Outlet outlet, OpenNetwork internet, String box, Processes processes) {
        this.sandbox = sandbox;
        this.outlet = outlet;
        this.internet = internet;
        this.box = box;
        this.processes = processes;
    }

    /** Refuses what this machine cannot enforce. */
    static void check(Machine machine, OciRuntime runtime, Network network) {
        if (network.mode() != Mode.OPEN) {
            return;
        }
        if (runtime.kind() == RuntimeKind.RUNSC) {
            throw SandboxException.unsupported(
                    "sandboxes of gVisor have no network of mode open, as it takes its interfaces only when it starts;"
                            + " use mode restricted with rules for what they need");
        }
        machine.network().lacking().ifPresent(reason -> {
            throw SandboxException.unsupported("sandboxes of this machine have no network of mode open: " + reason);
        });
    }

    /** Connects a sandbox that has just been started. */
    void open(Network network) throws IOException {
        if (network.mode() == Mode.OPEN) {
            internet.connect(box, processes.pids(), network);
            nameResolvers();
        }
    }

    /** Takes away what was for processes that are gone. */
    void close() throws IOException {
        internet.disconnect(box);
    }

    /** Makes sure of a running sandbox's network, which a server that was killed may have left half changed. */
    void takeUp(Network network) throws IOException {
        if (network.mode() != Mode.OPEN) {
            internet.disconnect(box);
            return;
        }
        try {
            internet.connect(box, processes.pids(), network);
        } catch (IOException | SandboxException e) {
            LOG.warn("sandbox {}: its network stays as it was found: {}", box, e.getMessage());
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
            lead(after);
            keeping.keep(after);
        } catch (IOException | RuntimeException e) {
            putBack(link, frozen, before, e);
            throw e;
        }
        if (!widens(before, after)) {
            link.cut();
        }
    }

    private void lead(Network network) throws IOException {
        if (network.mode() == Mode.OPEN) {
            open(network);
        } else {
            internet.disconnect(box);
        }
    }

    /** Tells programs that know no proxy whom to ask for names, unless somebody else has told them. */
    private void nameResolvers() throws IOException {
        byte[] ours = OpenNetwork.resolvConf().getBytes(StandardCharsets.US_ASCII);
        try {
            if (!sandbox.files().exists(RESOLV_CONF) || namesNobody()) {
                sandbox.files().write(RESOLV_CONF, new ByteArrayInputStream(ours), 0644);
            }
        } catch (SandboxException e) {
            // It is the sandbox's own file; what stands in the way there is the sandbox's own affair.
            LOG.warn("sandbox {}: could not write {}: {}", box, RESOLV_CONF, e.getMessage());
        }
    }

    private boolean namesNobody() throws IOException {
        try (InputStream file = sandbox.files().read(RESOLV_CONF, 0, LONGEST_RESOLV_CONF)) {
            return new String(file.readAllBytes(), StandardCharsets.ISO_8859_1)
                    .lines()
                    .noneMatch(line -> line.strip().startsWith("nameserver"));
        }
    }

    private void putBack(GuestLink link, boolean frozen, Network before, Exception why) {
        try {
            link.port(port(before), frozen);
            lead(before);
        } catch (IOException | SandboxException e) {
            why.addSuppressed(e);
        }
    }

    /** Whether everything that was allowed still is. */
    private static boolean widens(Network before, Network after) {
        return before.mode() == after.mode()
                && after.allow().containsAll(before.allow())
                && before.deny().containsAll(after.deny())
                && after.secrets().containsAll(before.secrets());
    }

    private void take(Connection connection) {
        outlet.take(sandbox, connection);
    }

    private static int port(Network network) {
        return network.mode() == Mode.NONE ? 0 : Outlet.PORT;
    }
}
