package dev.berth.sandbox.local.network;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * An internet of one host, in a network namespace of its own: public-looking addresses, a private one beside them, and
 * servers of all sorts on both. Nothing leaves this machine.
 *
 * <p>TCP on ports 80 and 81: a line with a number is answered by that many bytes, one with 0 by the client's address and
 * any other by itself. UDP on port 7: echo. DNS on port 53, UDP and TCP: every name is {@link #publicAddress}.
 */
public final class Internet implements AutoCloseable {
    private static final String SERVERS = """
            import socket, socketserver, struct, sys, threading
            public = sys.argv[1]

            class Lines(socketserver.StreamRequestHandler):
                def handle(self):
                    for line in self.rfile:
                        text = line.strip().decode()
                        if text == '0':
                            self.wfile.write((self.client_address[0] + '\\n').encode())
                        elif text.isdigit():
                            left = int(text)
                            while left > 0:
                                self.wfile.write(b'x' * min(left, 65536))
                                left -= 65536
                        else:
                            self.wfile.write(line)

            class Echo(socketserver.BaseRequestHandler):
                def handle(self):
                    self.request[1].sendto(self.request[0], self.client_address)

            def answer(query):
                end = 12
                while query[end]:
                    end += 1 + query[end]
                kind = query[end + 1:end + 3]
                found = 1 if kind == b'\\0\\1' else 0
                head = query[:2] + b'\\x81\\x80\\0\\1' + struct.pack('>H', found) + b'\\0\\0\\0\\0'
                record = b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4' + socket.inet_aton(public)
                return head + query[12:end + 5] + (record if found else b'')

            class Names(socketserver.BaseRequestHandler):
                def handle(self):
                    self.request[1].sendto(answer(self.request[0]), self.client_address)

            class LongNames(socketserver.StreamRequestHandler):
                def handle(self):
                    reply = answer(self.rfile.read(struct.unpack('>H', self.rfile.read(2))[0]))
                    self.wfile.write(struct.pack('>H', len(reply)) + reply)

            socketserver.TCPServer.allow_reuse_address = True
            servers = []
            for address in sys.argv[1:]:
                for kind, port, handler in (
                        (socketserver.ThreadingTCPServer, 80, Lines), (socketserver.ThreadingTCPServer, 81, Lines),
                        (socketserver.ThreadingUDPServer, 7, Echo), (socketserver.ThreadingUDPServer, 53, Names),
                        (socketserver.ThreadingTCPServer, 53, LongNames)):
                    server = kind((address, port), handler)
                    server.daemon_threads = True
                    servers.append(threading.Thread(target=server.serve_forever))
            for server in servers:
                server.start()
            print('ready', flush=True)
            """;

    private final String name;
    private final String net;
    private final String privateNet;
    private final Process servers;

    public Internet() throws IOException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        name = "bi" + Integer.toString(random.nextInt(1 << 30), 36);
        net = "11." + random.nextInt(256) + "." + random.nextInt(256) + ".";
        privateNet = "10." + random.nextInt(100, 200) + "." + random.nextInt(256) + ".";
        run("ip", "netns", "add", name);
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "out", "netns", name);
        run("ip", "address", "add", machineAddress() + "/24", "dev", name);
        run("ip", "link", "set", name, "up");
        run("ip", "route", "add", privateNet + "0/24", "dev", name);
        inside("ip", "address", "add", publicAddress() + "/24", "dev", "out");
        inside("ip", "address", "add", privateAddress() + "/24", "dev", "out");
        inside("ip", "link", "set", "out", "up");
        inside("ip", "link", "set", "lo", "up");
        inside("ip", "route", "add", "default", "via", machineAddress());
        servers = new ProcessBuilder(
                        "ip", "netns", "exec", name, "python3", "-c", SERVERS, publicAddress(), privateAddress())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader output = servers.inputReader(StandardCharsets.US_ASCII);
        if (!"ready".equals(output.readLine())) {
            close();
            throw new IOException("the internet did not come up");
        }
    }

    /** Of the servers. */
    public String publicAddress() {
        return net + "2";
    }

    /** Of the same servers. */
    public String privateAddress() {
        return privateNet + "2";
    }

    public String privateRange() {
        return privateNet + "0/24";
    }

    /** Of this machine, as the internet sees it. */
    public String machineAddress() {
        return net + "1";
    }

    private void inside(String... argv) throws IOException {
        HostCommand.run(
                        java.util.stream.Stream.concat(
                                        java.util.stream.Stream.of("ip", "netns", "exec", name),
                                        java.util.stream.Stream.of(argv))
                                .toList(),
                        "")
                .orThrow();
    }

    private static void run(String... argv) throws IOException {
        HostCommand.run(List.of(argv), "").orThrow();
    }

    @Override
    public void close() throws IOException {
        servers.destroyForcibly();
        servers.onExit().join();
        run("ip", "link", "delete", "dev", name);
        run("ip", "netns", "delete", name);
    }
}
