package dev.berth.channel.webhook;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.channel.Incoming;
import dev.berth.sandbox.PublicAddresses;
import dev.berth.sandbox.SandboxException;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * A file that is fetched from a URL. It is got from the address that was checked, and not from wherever the name leads by
 * then, which is what the JDK's client would do; redirects are not followed, as they would lead around the check.
 */
record Download(String name, long size, String url, boolean privateAddresses) implements Incoming.Attachment {
    private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})(?: .*)?");
    private static final int CONNECT_MS = 10_000;
    /** Between two bytes: a server that stops sending does not hold a message for ever. */
    private static final int SILENCE_MS = 30_000;

    private static final int MOST_OF_HEAD = 32 << 10;
    private static final int HTTP = 80;
    private static final int HTTPS = 443;
    private static final int OK = 200;

    @Override
    public InputStream open() throws IOException {
        URI target = parse();
        InetAddress address = address(target);
        boolean secure = target.getScheme().equalsIgnoreCase("https");
        int port = target.getPort() >= 0 ? target.getPort() : secure ? HTTPS : HTTP;
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(address, port), CONNECT_MS);
            socket.setSoTimeout(SILENCE_MS);
            if (secure) {
                socket = secured(socket, host(target), port);
            }
            return content(socket, target);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private URI parse() {
        try {
            URI parsed = new URI(url);
            String scheme = String.valueOf(parsed.getScheme()).toLowerCase(Locale.ROOT);
            if ((scheme.equals("https") || scheme.equals("http"))
                    && parsed.getHost() != null
                    && parsed.getRawUserInfo() == null) {
                return parsed;
            }
        } catch (URISyntaxException e) {
            throw SandboxException.invalid("its url cannot be read");
        }
        throw SandboxException.invalid("its url has to be like https://host.example/path");
    }

    private static String host(URI target) {
        String host = target.getHost();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    private InetAddress address(URI target) {
        try {
            InetAddress[] addresses = InetAddress.getAllByName(host(target));
            for (InetAddress address : addresses) {
                if (!privateAddresses && !PublicAddresses.contains(address)) {
                    throw SandboxException.denied("its url leads to an address that is not public");
                }
            }
            return addresses[0];
        } catch (UnknownHostException e) {
            throw SandboxException.invalid("the host of its url is not known");
        }
    }

    private static SSLSocket secured(Socket plain, String host, int port) throws IOException {
        SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
        SSLSocket socket = (SSLSocket) factory.createSocket(plain, host, port, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }

    private static InputStream content(Socket socket, URI target) throws IOException {
        String path = target.getRawPath() == null || target.getRawPath().isEmpty() ? "/" : target.getRawPath();
        String query = target.getRawQuery() == null ? "" : "?" + target.getRawQuery();
        String authority = target.getPort() >= 0 ? target.getHost() + ":" + target.getPort() : target.getHost();
        socket.getOutputStream()
                .write(("GET " + path + query + " HTTP/1.1\r\nHost: " + authority
                                + "\r\nUser-Agent: Berth\r\nAccept: */*\r\nAccept-Encoding: identity"
                                + "\r\nConnection: close\r\n\r\n")
                        .getBytes(ISO_8859_1));
        InputStream in = new BufferedInputStream(socket.getInputStream());
        Head head = new Head(in);
        Matcher status = STATUS.matcher(head.line());
        if (!status.matches()) {
            throw SandboxException.invalid("what answers at its url does not speak HTTP/1.1");
        }
        if (Integer.parseInt(status.group(1)) != OK) {
            throw SandboxException.invalid("its url answered with status " + status.group(1));
        }
        Map<String, String> headers = head.headers();
        InputStream body;
        if (headers.getOrDefault("transfer-encoding", "").equalsIgnoreCase("chunked")) {
            body = new Chunks(in);
        } else if (headers.getOrDefault("content-length", "").matches("[0-9]{1,18}")) {
            body = new Exactly(in, Long.parseLong(headers.getOrDefault("content-length", "0")));
        } else {
            body = in;
        }
        return new FilterInputStream(body) {
            @Override
            public void close() throws IOException {
                socket.close();
            }
        };
    }

    /** The lines before the content. */
    private static final class Head {
        private final InputStream in;
        private int left = MOST_OF_HEAD;

        Head(InputStream in) {
            this.in = in;
        }

        String line() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int b = in.read(); b != '\n'; b = in.read()) {
                if (b < 0 || --left < 0) {
                    throw new IOException("the answer ended, or has no end, before its content");
                }
                line.write(b);
            }
            return line.toString(ISO_8859_1).stripTrailing();
        }

        Map<String, String> headers() throws IOException {
            Map<String, String> headers = new HashMap<>();
            for (String line = line(); !line.isEmpty(); line = line()) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    headers.put(
                            line.substring(0, colon).strip().toLowerCase(Locale.ROOT),
                            line.substring(colon + 1).strip());
                }
            }
            return headers;
        }
    }

    /** So many bytes, neither more nor less. */
    private static final class Exactly extends InputStream {
        private final InputStream in;
        private long left;

        Exactly(InputStream in, long size) {
            this.in = in;
            this.left = size;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            if (left == 0) {
                return -1;
            }
            int read = in.read(buffer, offset, (int) Math.min(length, left));
            if (read < 0) {
                throw new IOException("the connection was cut before the end of the file");
            }
            left -= read;
            return read;
        }
    }

    /** Content in chunks, by RFC 9112 section 7.1. */
    private static final class Chunks extends InputStream {
        private final InputStream in;
        private long left;
        private boolean first = true;
        private boolean over;

        Chunks(InputStream in) {
            this.in = in;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            if (left == 0 && !over) {
                next();
            }
            if (over) {
                return -1;
            }
            int read = in.read(buffer, offset, (int) Math.min(length, left));
            if (read < 0) {
                throw new IOException("the connection was cut before the end of the file");
            }
            left -= read;
            return read;
        }

        private void next() throws IOException {
            Head head = new Head(in);
            if (!first && !head.line().isEmpty()) {
                throw new IOException("a chunk is longer than it said");
            }
            first = false;
            String size = head.line().replaceFirst(";.*", "").strip();
            if (!size.matches("[0-9A-Fa-f]{1,15}")) {
                throw new IOException("a chunk has no length");
            }
            left = Long.parseLong(size, 16);
            over = left == 0;
        }
    }
}
