package dev.berth.bench;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * A DNS server (UDP, RFC 1035) to whom every name is 127.0.0.1. Programs in sandboxes go to addresses of the loopback by
 * themselves; what is reached by a name goes by the proxy, as a model outside does.
 */
final class LoopbackNames implements AutoCloseable {
    private static final int LONGEST = 512;
    private static final int HEADER = 12;
    private static final int A = 1;
    private static final int INTERNET = 1;
    /** An answer, of one who knows, without an error. */
    private static final short FLAGS = (short) 0x8580;
    /** Points to the name in the question. */
    private static final short SAME_NAME = (short) 0xc00c;

    private final DatagramSocket socket;

    LoopbackNames() throws IOException {
        socket = new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.1"));
        Thread.ofPlatform().name("names").daemon().start(this::serve);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) socket.getLocalSocketAddress();
    }

    private void serve() {
        try {
            while (true) {
                DatagramPacket query = new DatagramPacket(new byte[LONGEST], LONGEST);
                socket.receive(query);
                ByteBuffer answer = answer(ByteBuffer.wrap(query.getData(), 0, query.getLength()));
                socket.send(new DatagramPacket(answer.array(), answer.position(), query.getSocketAddress()));
            }
        } catch (IOException e) {
            // The measurement is over; whoever still asks is told by its own patience.
        }
    }

    private static ByteBuffer answer(ByteBuffer query) {
        int end = HEADER;
        while (query.get(end) != 0) {
            end += query.get(end) + 1;
        }
        boolean wantsV4 = query.getShort(end + 1) == A;
        ByteBuffer answer = ByteBuffer.allocate(2 * LONGEST);
        answer.putShort(query.getShort(0)).putShort(FLAGS).putShort((short) 1).putShort((short) (wantsV4 ? 1 : 0));
        answer.putInt(0).put(query.slice(HEADER, end + 5 - HEADER));
        if (wantsV4) {
            answer.putShort(SAME_NAME).putShort((short) A).putShort((short) INTERNET);
            answer.putInt(0).putShort((short) 4).put(new byte[] {127, 0, 0, 1});
        }
        return answer;
    }

    @Override
    public void close() {
        socket.close();
    }
}
