package dev.berth.gateway.preview;

import dev.berth.sandbox.Connection;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** A connection into a sandbox in the shape that the HTTP library wants. It has no address and no options. */
final class StreamSocket extends Socket {
    private final Connection connection;
    private volatile boolean closed;

    StreamSocket(Connection connection) {
        this.connection = connection;
    }

    @Override
    public InputStream getInputStream() {
        return connection.input();
    }

    @Override
    public OutputStream getOutputStream() {
        return connection.output();
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
        connection.close();
    }

    @Override
    public void shutdownInput() {}

    @Override
    public void shutdownOutput() {}

    @Override
    public void setSoLinger(boolean on, int linger) {}

    @Override
    public void setSoTimeout(int timeout) {}

    @Override
    public int getSoTimeout() {
        return 0;
    }
}
