package dev.berth.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.junit.jupiter.api.Test;

class ClientHelloTest {

    @Test
    void namesTheServerThatARealClientAsksFor() throws Exception {
        assertThat(read(hello("API.example.com"))).isEqualTo(new ClientHello.Complete(Optional.of("api.example.com")));
    }

    @Test
    void namesNoServerIfTheClientNamesNone() throws Exception {
        assertThat(read(hello(null))).isEqualTo(new ClientHello.Complete(Optional.empty()));
    }

    @Test
    void isPartialUntilItsLastByte() throws Exception {
        byte[] whole = hello("example.com");
        for (int length = 0; length < whole.length; length++) {
            ClientHello hello = ClientHello.read(whole, length);
            assertThat(hello).as("%d bytes", length).isInstanceOf(ClientHello.Partial.class);
            assertThat(((ClientHello.Partial) hello).needed()).isBetween(length + 1, whole.length);
        }
    }

    @Test
    void mayLieInSeveralRecords() throws Exception {
        for (int size : new int[] {40, 50, 100, 200}) {
            byte[] pieces = inRecords(message(hello("example.com")), size);
            assertThat(read(pieces))
                    .as("records of %d", size)
                    .isEqualTo(new ClientHello.Complete(Optional.of("example.com")));
            for (int length = 0; length < pieces.length; length++) {
                assertThat(ClientHello.read(pieces, length)).isInstanceOf(ClientHello.Partial.class);
            }
        }
    }

    @Test
    void isBrokenInEndlesslyManyRecords() throws Exception {
        assertThat(read(inRecords(message(hello("example.com")), 1))).isInstanceOf(ClientHello.Broken.class);
    }

    @Test
    void mayBeFollowedByOtherRecords() throws Exception {
        byte[] whole = hello("example.com");
        byte[] followed = Arrays.copyOf(whole, whole.length + 6);
        followed[whole.length] = 20;
        assertThat(read(followed)).isEqualTo(new ClientHello.Complete(Optional.of("example.com")));
    }

    @Test
    void isForeignIfItIsSomethingElse() {
        for (String text :
                List.of("GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "\u0016\u0002abc", "\0", "\u0080.\u0001")) {
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            assertThat(read(bytes)).as(text).isInstanceOf(ClientHello.Foreign.class);
        }
    }

    @Test
    void isBrokenIfItSaysAnythingTwice() {
        byte[] name = serverName("a.example");
        assertThat(read(made(extension(0, name), extension(0, serverName("b.example")))))
                .isInstanceOf(ClientHello.Broken.class);
        assertThat(read(made(extension(0, name)))).isEqualTo(new ClientHello.Complete(Optional.of("a.example")));
    }

    @Test
    void isBrokenIfItNamesSeveralServers() {
        byte[] one = Arrays.copyOfRange(serverName("a.example"), 2, 14);
        byte[] both = joined(new byte[] {0, (byte) (2 * one.length)}, one, one);
        assertThat(read(made(extension(0, both)))).isInstanceOf(ClientHello.Broken.class);
    }

    @Test
    void isBrokenIfTheNameIsNone() {
        for (String name :
                List.of("", "a b", "a\0b", "a/b", "b\u00fccher.example", "*", "a:443", "[::1]", "x".repeat(254))) {
            assertThat(read(made(extension(0, serverName(name))))).as(name).isInstanceOf(ClientHello.Broken.class);
        }
    }

    @Test
    void isBrokenIfItsLengthsDoNotAgree() throws Exception {
        byte[] good = made(extension(0, serverName("a.example")));
        int list = good.length - 4 - "a.example".length();
        for (int at : new int[] {list - 1, list + 1, list + 3}) {
            for (int change : new int[] {-1, 1}) {
                byte[] bad = good.clone();
                bad[at] += (byte) change;
                assertThat(read(bad)).as("byte %d %+d", at, change).isInstanceOf(ClientHello.Broken.class);
            }
        }
    }

    @Test
    void isBrokenIfItIsTooLong() {
        byte[] claims = {22, 3, 1, 0, 4, 1, 0x10, 0, 0};
        assertThat(read(claims)).isInstanceOf(ClientHello.Broken.class);
    }

    @Test
    void isReadInSomeWayWhateverItIs() throws Exception {
        Random random = new Random(20);
        byte[] good = hello("example.com");
        for (int round = 0; round < 200_000; round++) {
            byte[] bytes = good.clone();
            for (int changes = random.nextInt(4); changes >= 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            int length = random.nextInt(bytes.length + 1);
            ClientHello hello = ClientHello.read(bytes, length);
            if (hello instanceof ClientHello.Partial partial) {
                assertThat(partial.needed()).isGreaterThan(length);
            }
        }
    }

    private static ClientHello read(byte[] bytes) {
        return ClientHello.read(bytes, bytes.length);
    }

    /** As the JDK's TLS says it. */
    static byte[] hello(@org.jspecify.annotations.Nullable String server) throws Exception {
        SSLEngine engine = SSLContext.getDefault().createSSLEngine();
        engine.setUseClientMode(true);
        if (server != null) {
            SSLParameters parameters = engine.getSSLParameters();
            parameters.setServerNames(List.of(new SNIHostName(server)));
            engine.setSSLParameters(parameters);
        }
        ByteBuffer packet = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        engine.wrap(ByteBuffer.allocate(0), packet);
        return Arrays.copyOf(packet.array(), packet.position());
    }

    private static byte[] message(byte[] record) {
        return Arrays.copyOfRange(record, 5, record.length);
    }

    private static byte[] inRecords(byte[] message, int size) {
        ByteArrayOutputStream records = new ByteArrayOutputStream();
        for (int at = 0; at < message.length; at += size) {
            int length = Math.min(size, message.length - at);
            records.writeBytes(new byte[] {22, 3, 1, (byte) (length >> 8), (byte) length});
            records.write(message, at, length);
        }
        return records.toByteArray();
    }

    /** A small hello with these extensions. */
    private static byte[] made(byte[]... extensions) {
        byte[] all = joined(extensions);
        byte[] body = joined(new byte[2 + 32], new byte[] {0, 0, 2, 0x13, 1, 1, 0}, u16(all.length), all);
        return inRecords(joined(new byte[] {1, 0}, u16(body.length), body), 1 << 14);
    }

    private static byte[] extension(int type, byte[] content) {
        return joined(u16(type), u16(content.length), content);
    }

    private static byte[] serverName(String name) {
        byte[] text = name.getBytes(StandardCharsets.ISO_8859_1);
        return joined(u16(text.length + 3), new byte[] {0}, u16(text.length), text);
    }

    private static byte[] u16(int value) {
        return new byte[] {(byte) (value >> 8), (byte) value};
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }
}
