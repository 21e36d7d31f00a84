package dev.berth.gateway.egress;

import dev.berth.egress.internet.Internet;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import javax.net.ssl.SSLContext;

/** A WebSocket (RFC 6455) that says back the short texts it is told, to whoever has the credential that is wanted. */
final class EchoSocket implements AutoCloseable {
    private static final String MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    private static final int TEXT = 0x81;

    private final ServerSocket door;
    private final String wanted;

    EchoSocket(Internet internet, InetAddress address, String wanted, SSLContext tls) {
        this.door = internet.inside(() -> tls.getServerSocketFactory().createServerSocket(443, 512, address));
        this.wanted = wanted;
        Thread.ofVirtual().name("echo").start(this::accept);
    }

    private void accept() {
        while (!door.isClosed()) {
            try (Socket visitor = door.accept()) {
                serve(new DataInputStream(visitor.getInputStream()), visitor.getOutputStream());
            } catch (IOException e) {
                if (door.isClosed()) {
                    return;
                } // else the visitor has left, and the next one is served
            }
        }
    }

    private void serve(DataInputStream in, OutputStream out) throws IOException {
        List<String> head = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b >= 0; b = in.read()) {
            if (b == '\n') {
                if (line.isEmpty()) {
                    break;
                }
                head.add(line.toString());
                line.setLength(0);
            } else if (b != '\r') {
                line.append((char) b);
            }
        }
        if (!header(head, "authorization").equals(wanted)) {
            out.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            return;
        }
        out.write(
                ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
                                + accepted(header(head, "sec-websocket-key")) + "\r\n\r\n")
                        .getBytes(StandardCharsets.US_ASCII));
        for (int first = in.read(); first == TEXT; first = in.read()) {
            byte[] mask = new byte[4];
            byte[] text = new byte[in.readUnsignedByte() & 0x7f];
            in.readFully(mask);
            in.readFully(text);
            byte[] frame = new byte[text.length + 2];
            frame[0] = (byte) TEXT;
            frame[1] = (byte) text.length;
            for (int i = 0; i < text.length; i++) {
                frame[i + 2] = (byte) (text[i] ^ mask[i % 4]);
            }
            out.write(frame);
        }
    }

    private static String header(List<String> head, String name) {
        return head.stream()
                .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst()
                .orElse("");
    }

    private static String accepted(String key) {
        try {
            byte[] sum = MessageDigest.getInstance("SHA-1").digest((key + MAGIC).getBytes(StandardCharsets.US_ASCII));
            return Base64.getEncoder().encodeToString(sum);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws IOException {
        door.close();
    }
}
