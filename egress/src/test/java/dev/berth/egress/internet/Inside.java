package dev.berth.egress.internet;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The inside of a sandbox as far as an outlet is concerned: whoever connects to its port, on this machine's loopback, is
 * handed to the outlet as a sandbox's guest would do.
 */
public final class Inside implements AutoCloseable {
    private final ServerSocket door;
    private final Sandbox sandbox;
    private final Outlet outlet;
    private final Set<Socket> programs = ConcurrentHashMap.newKeySet();

    public Inside(String id, Outlet outlet) {
        this.sandbox = sandbox(id);
        this.outlet = outlet;
        try {
            door = new ServerSocket(0, 512, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("inside").start(this::accept);
    }

    public int port() {
        return door.getLocalPort();
    }

    /** As {@code http_proxy} has it. */
    public String proxy() {
        return "http://" + door.getInetAddress().getHostAddress() + ":" + port();
    }

    public Sandbox sandbox() {
        return sandbox;
    }

    /** A connection of a program inside to the outlet. */
    public Socket connect() {
        try {
            Socket socket = new Socket(door.getInetAddress(), port());
            socket.setSoTimeout(60_000);
            socket.setTcpNoDelay(true);
            return socket;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Sandbox sandbox(String name) {
        SandboxId id = new SandboxId(name);
        return (Sandbox) Proxy.newProxyInstance(
                Inside.class.getClassLoader(),
                new Class<?>[] {Sandbox.class},
                (_, method, _) -> switch (method.getName()) {
                    case "id" -> id;
                    case "toString" -> name;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private void accept() {
        while (!door.isClosed()) {
            try {
                Socket program = door.accept();
                program.setTcpNoDelay(true);
                programs.add(program);
                Thread.ofVirtual().name("outlet").start(() -> serve(program));
            } catch (IOException e) {
                if (!door.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private void serve(Socket program) {
        try (Connection connection = carried(program)) {
            outlet.take(sandbox, connection);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            programs.remove(program);
        }
    }

    private static Connection carried(Socket socket) throws IOException {
        return new Carried(socket, socket.getInputStream(), new HalfClosing(socket));
    }

    private record Carried(Socket socket, InputStream input, OutputStream output) implements Connection {
        @Override
        public void close() {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static final class HalfClosing extends FilterOutputStream {
        private final Socket socket;

        HalfClosing(Socket socket) throws IOException {
            super(socket.getOutputStream());
            this.socket = socket;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        @Override
        public void close() throws IOException {
            if (!socket.isOutputShutdown()) {
                socket.shutdownOutput();
            }
        }
    }

    @Override
    public void close() {
        try {
            door.close();
            for (Socket program : programs) {
                program.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
