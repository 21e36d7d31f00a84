package dev.berth.egress;

import dev.berth.egress.policy.Refusal;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** What a program inside is told. */
final class Answer {
    /** A fatal alert, access_denied (RFC 8446, 6.2): what can be said to whoever speaks TLS with somebody else. */
    private static final byte[] DENIED = {21, 3, 3, 0, 2, 2, 49};

    private Answer() {}

    static void connected(OutputStream output) throws IOException {
        output.write("HTTP/1.1 200 Connection established\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
        output.flush();
    }

    static void refused(OutputStream output, Refusal refusal) throws IOException {
        byte[] body = ("berth: " + refusal.getMessage() + "\n").getBytes(StandardCharsets.UTF_8);
        String head = "HTTP/1.1 " + refusal.reason().status() + " Refused\r\n"
                + "X-Berth-Refused: " + refusal.reason() + "\r\n"
                + "Content-Type: text/plain; charset=utf-8\r\n"
                + "Content-Length: " + body.length + "\r\n"
                + "Connection: close\r\n"
                + "\r\n";
        output.write(head.getBytes(StandardCharsets.ISO_8859_1));
        output.write(body);
        output.flush();
    }

    static void deniedWithinTls(OutputStream output) throws IOException {
        output.write(DENIED);
        output.flush();
    }
}
