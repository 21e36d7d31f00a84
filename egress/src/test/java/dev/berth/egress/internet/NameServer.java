package dev.berth.egress.internet;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A DNS server (UDP, RFC 1035) that answers as it is told, from query to query differently if wanted. Names that it was
 * not told of do not exist.
 */
public final class NameServer implements AutoCloseable {
    private static final int A = 1;
    private static final int AAAA = 28;

    private final DatagramSocket socket;
    private final Map<String, Iterator<List<InetAddress>>> answers = new ConcurrentHashMap<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();

    /** One on the loopback of this machine. */
    public static NameServer onLoopback() throws IOException {
        return new NameServer(new DatagramSocket(0, InetAddress.getLoopbackAddress()));
    }

    NameServer(DatagramSocket socket) {
        this.socket = socket;
        Thread.ofVirtual().name("names").start(this::serve);
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) socket.getLocalSocketAddress();
    }

    /** From now on a name stands for these addresses. */
    public void name(String host, InetAddress... addresses) {
        List<InetAddress> always = List.of(addresses);
        answers.put(host, java.util.stream.Stream.generate(() -> always).iterator());
    }

    /** The first query for each kind of address finds one thing, all later ones another: what rebinding is. */
    public void rebind(String host, InetAddress first, InetAddress then) {
        List<InetAddress> later = List.of(then);
        // A resolver that wants both kinds of addresses asks twice for one answer.
        answers.put(
                host,
                java.util.stream.Stream.concat(
                                java.util.stream.Stream.of(List.of(first), List.of(first)),
                                java.util.stream.Stream.generate(() -> later))
                        .iterator());
    }

    /** All names that were asked for, in order; those that were asked for as both kinds twice. */
    public List<String> asked() {
        return List.copyOf(asked);
    }

    private void serve() {
        byte[] buffer = new byte[1500];
        while (!socket.isClosed()) {
            try {
                DatagramPacket query = new DatagramPacket(buffer, buffer.length);
                socket.receive(query);
                byte[] answer = answer(Arrays.copyOf(buffer, query.getLength()));
                socket.send(new DatagramPacket(answer, answer.length, query.getSocketAddress()));
            } catch (IOException e) {
                if (!socket.isClosed()) {
                    throw new IllegalStateException("the name server of the test broke", e);
                }
            }
        }
    }

    private byte[] answer(byte[] packet) {
        ByteBuffer query = ByteBuffer.wrap(packet);
        short id = query.getShort();
        query.position(12);
        StringBuilder name = new StringBuilder();
        for (int length = query.get(); length > 0; length = query.get()) {
            byte[] label = new byte[length];
            query.get(label);
            name.append(name.isEmpty() ? "" : ".").append(new String(label, StandardCharsets.US_ASCII));
        }
        int type = query.getShort();
        query.getShort();
        byte[] question = Arrays.copyOfRange(packet, 12, query.position());
        String host = name.toString().toLowerCase(Locale.ROOT);
        asked.add(host);
        Iterator<List<InetAddress>> known = answers.get(host);
        List<byte[]> found = known == null
                ? List.of()
                : known.next().stream()
                        .map(InetAddress::getAddress)
                        .filter(address -> (type == A && address.length == 4) || (type == AAAA && address.length == 16))
                        .toList();
        ByteBuffer answer = ByteBuffer.allocate(1400);
        int noSuchName = known == null ? 3 : 0;
        answer.putShort(id).putShort((short) (0x8580 | noSuchName)).putShort((short) 1);
        answer.putShort((short) found.size())
                .putShort((short) 0)
                .putShort((short) 0)
                .put(question);
        for (byte[] address : found) {
            answer.putShort((short) 0xc00c)
                    .putShort((short) type)
                    .putShort((short) 1)
                    .putInt(0);
            answer.putShort((short) address.length).put(address);
        }
        return Arrays.copyOf(answer.array(), answer.position());
    }

    @Override
    public void close() {
        socket.close();
    }
}
