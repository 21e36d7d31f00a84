package dev.berth.gateway.egress;

import dev.berth.egress.internet.Internet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Listens where nothing may ever arrive, and keeps what did. Its sockets are closed with the internet they are in. */
final class Canary {
    private final List<String> sung = new CopyOnWriteArrayList<>();

    /** Watches a port for connections. */
    Canary tcp(Internet internet, InetAddress address, int port) {
        watch(internet.listen(address, port));
        return this;
    }

    /** Watches a port for packets, until the returned socket is closed. */
    DatagramSocket udp(Internet internet, InetAddress address, int port) {
        DatagramSocket socket = internet.inside(() -> new DatagramSocket(new InetSocketAddress(address, port)));
        Thread.ofVirtual().name("canary").start(() -> {
            while (!socket.isClosed()) {
                try {
                    DatagramPacket packet = new DatagramPacket(new byte[1500], 1500);
                    socket.receive(packet);
                    sung.add("udp " + socket.getLocalSocketAddress() + " from " + packet.getSocketAddress());
                } catch (IOException e) {
                    if (!socket.isClosed()) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        });
        return socket;
    }

    /** Watches a socket that listens, until it is closed. */
    void watch(ServerSocket door) {
        Thread.ofVirtual().name("canary").start(() -> {
            while (!door.isClosed()) {
                try (Socket visitor = door.accept()) {
                    sung.add("tcp " + door.getLocalSocketAddress() + " from " + visitor.getRemoteSocketAddress());
                } catch (IOException e) {
                    if (!door.isClosed()) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        });
    }

    /** What has arrived. */
    List<String> sung() {
        return List.copyOf(sung);
    }

    void forget() {
        sung.clear();
    }
}
