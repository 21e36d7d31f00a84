package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.function.IntSupplier;
import java.util.random.RandomGenerator;

/**
 * Ports of the loopback address that nobody listens on at the moment.
 *
 * <p>They lie below those that outgoing connections get (ip_local_port_range in ip(7)), lest one of these takes the port
 * while PostgreSQL restarts; a client that keeps trying to reach it could even end up connected to itself.
 */
record FreePorts(RandomGenerator random) implements IntSupplier {
    private static final int FIRST = 15_000;
    private static final int LAST = 29_999;
    private static final int ATTEMPTS = 100;

    @Override
    public int getAsInt() {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            int port = random.nextInt(FIRST, LAST + 1);
            try (ServerSocket socket = new ServerSocket()) {
                socket.setReuseAddress(true);
                socket.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
                return port;
            } catch (IOException e) {
                // somebody has it
            }
        }
        throw SandboxException.unavailable("could not start PostgreSQL: no free port on 127.0.0.1");
    }
}
