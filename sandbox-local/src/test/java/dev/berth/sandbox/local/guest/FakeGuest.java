package dev.berth.sandbox.local.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** A guest that says what a test tells it to. Every wait in it ends with the connection, which the test's timeout ends. */
final class FakeGuest implements AutoCloseable {
    private final SocketChannel channel;

    private FakeGuest(SocketChannel channel) {
        this.channel = channel;
    }

    static FakeGuest connect(Path socket) throws IOException {
        return new FakeGuest(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
    }

    /** Connects and is welcome. */
    static FakeGuest welcome(Path socket, String token) throws IOException {
        return welcome(socket, token, Wire.VERSION);
    }

    static FakeGuest welcome(Path socket, String token, int version) throws IOException {
        FakeGuest guest = connect(socket);
        guest.send(hello(version, token, 1));
        Wire.In welcome = guest.receive();
        assertThat(welcome.type).isEqualTo(Wire.WELCOME);
        assertThat(welcome.u16()).isEqualTo(version);
        return guest;
    }

    static Wire.Out hello(int version, String token, int nextId) {
        return new Wire.Out(Wire.HELLO, 0, 64)
                .u16(version)
                .string(token)
                .string("boot")
                .u32(nextId);
    }

    void send(Wire.Out frame) throws IOException {
        sendRaw(frame.done());
    }

    void sendRaw(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    void accepted(int id) throws IOException {
        send(new Wire.Out(Wire.ACCEPTED, id, 0));
    }

    void listening(int port, int errno) throws IOException {
        send(new Wire.Out(Wire.LISTENING, 0, 6).u16(port).u32(errno));
    }

    void data(int id, String text) throws IOException {
        byte[] bytes = text.getBytes(UTF_8);
        send(new Wire.Out(Wire.DATA, id, bytes.length).bytes(bytes, 0, bytes.length));
    }

    void started(int id) throws IOException {
        send(new Wire.Out(Wire.STARTED, id, 4).u32(42));
    }

    void output(int id, long offset, String text) throws IOException {
        byte[] bytes = text.getBytes(UTF_8);
        send(new Wire.Out(Wire.OUTPUT, id, bytes.length)
                .u8(Wire.STDOUT)
                .u64(offset)
                .bytes(bytes, 0, bytes.length));
    }

    void exited(int id, int code, long stdoutEnd) throws IOException {
        send(new Wire.Out(Wire.EXITED, id, 19)
                .u8(0)
                .u8(code)
                .u8(0)
                .u64(stdoutEnd)
                .u64(0));
    }

    /** The next frame of this type, passing over others. */
    Wire.In await(int type) throws IOException {
        Wire.In frame = receive();
        while (frame.type != type) {
            frame = receive();
        }
        return frame;
    }

    Wire.In receive() throws IOException {
        ByteBuffer length = read(4);
        return new Wire.In(read(length.getInt()));
    }

    private ByteBuffer read(int size) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(size);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new IOException("the server closed the connection");
            }
        }
        return buffer.flip();
    }

    /** Waits for the server to close this connection. */
    void assertClosed() {
        ByteBuffer rest = ByteBuffer.allocate(4096);
        try {
            while (channel.read(rest) >= 0) {
                rest.clear();
            }
        } catch (IOException e) {
            // Reset, since the server left bytes unread: closed as well.
            assertThat(e.getMessage()).isNotNull();
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
