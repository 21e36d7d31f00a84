package dev.berth.egress.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** HTTP as a test writes it, byte by byte. */
final class RawHttp {
    private static final Pattern LENGTH = Pattern.compile("(?i)\r\nContent-Length: (\\d+)\r\n");

    private RawHttp() {}

    static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        socket.getOutputStream().flush();
    }

    /** The head of what comes. */
    static String head(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0; b = in.read()) {
            head.write(b);
            if (b == '\n' && head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
                break;
            }
        }
        return head.toString(StandardCharsets.ISO_8859_1);
    }

    /** A message that says how long it is. */
    static String message(Socket socket) throws IOException {
        String head = head(socket);
        Matcher length = LENGTH.matcher(head);
        return length.find() ? head + exactly(socket, Integer.parseInt(length.group(1))) : head;
    }

    static String exactly(Socket socket, int n) throws IOException {
        return new String(socket.getInputStream().readNBytes(n), StandardCharsets.ISO_8859_1);
    }

    /** All that comes until the other side has no more. */
    static String all(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
}
