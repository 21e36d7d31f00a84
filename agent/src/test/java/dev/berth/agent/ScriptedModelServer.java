package dev.berth.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Serves a scripted model on this machine, to whoever asks it from outside of sandboxes. It is made of sockets and not of
 * an HTTP server, as scripts break the rules of HTTP.
 */
public final class ScriptedModelServer implements AutoCloseable {
    private final ScriptedModel model = new ScriptedModel();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final ServerSocket listening;

    public ScriptedModelServer() {
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("scripted-model").start(this::accept);
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                open.add(socket);
                Thread.ofVirtual().name("scripted-answer").start(() -> serve(socket));
            } catch (SocketException e) {
                return; // closed
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            model.serve(socket.getInputStream(), socket.getOutputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            open.remove(socket);
        }
    }

    public ScriptedModel model() {
        return model;
    }

    /** What a client of OpenAI's API has as its base. */
    public URI url() {
        return URI.create("http://127.0.0.1:" + listening.getLocalPort() + "/v1");
    }

    @Override
    public void close() {
        try {
            listening.close();
            for (Socket socket : open) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
