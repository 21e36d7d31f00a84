package dev.berth.sandbox.local;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * How fast connections out of a sandbox are, beside direct ones to the same server, in turns in one run; not a test. The server is a process of its own: one
 * byte asks it to send, to take, or to answer each byte. Run it with the class path of the tests.
 */
final class OutletSpeed {
    private static final String SERVER = """
            import socket, threading
            def serve(c):
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                what = c.recv(1)
                if what == b'd':
                    block = bytes(1 << 18)
                    for _ in range(SIZE >> 18): c.sendall(block)
                elif what == b'u':
                    buffer, got = bytearray(1 << 18), 0
                    while got < SIZE: got += c.recv_into(buffer)
                    c.sendall(b'.')
                else:
                    while c.recv(1): c.sendall(b'.')
                c.close()
            s = socket.create_server(('127.0.0.1', 0), backlog=64)
            print(s.getsockname()[1], flush=True)
            while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
            """;

    private static final String CLIENT = """
            import socket, sys, time
            port, what = int(sys.argv[1]), sys.argv[2]
            c = socket.create_connection(('127.0.0.1', port))
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            c.sendall(what.encode())
            begin = time.perf_counter()
            if what == 'd':
                buffer, got = bytearray(1 << 18), 0
                while got < SIZE: got += c.recv_into(buffer)
                print(SIZE / (time.perf_counter() - begin) / 1e6)
            elif what == 'u':
                block = bytes(1 << 18)
                for _ in range(SIZE >> 18): c.sendall(block)
                c.recv(1)
                print(SIZE / (time.perf_counter() - begin) / 1e6)
            else:
                times = []
                for _ in range(2000):
                    begin = time.perf_counter(); c.sendall(b'x'); c.recv(1); times.append(time.perf_counter() - begin)
                print(sorted(times)[1000] * 1e3)
            """;

    private OutletSpeed() {}

    public static void main(String... arguments) throws IOException {
        RuntimeKind runtime = RuntimeKind.valueOf(arguments.length > 0 ? arguments[0] : "CRUN");
        long size = (arguments.length > 1 ? Long.parseLong(arguments[1]) : 1024) << 20;
        Process server = new ProcessBuilder("python3", "-c", SERVER.replace("SIZE", Long.toString(size)))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String client = CLIENT.replace("SIZE", Long.toString(size));
        try (TestMachine machine = new TestMachine(runtime)) {
            String port = server.inputReader().readLine();
            machine.provider().outlet((_, connection) -> carry(connection, Integer.parseInt(port)));
            Sandbox sandbox = machine.provider()
                    .create(SandboxSpec.of("speed", "host")
                            .withNetwork(Network.restricted(Network.Rule.to("example.com"))));
            for (String what : List.of("d", "u", "l")) {
                List<Double> direct = new ArrayList<>();
                List<Double> carried = new ArrayList<>();
                for (int round = 0; round < 5; round++) {
                    direct.add(direct(client, port, what));
                    carried.add(Double.parseDouble(sandbox.run(Command.of("python3", "-c", client, "3128", what))
                            .stdout()
                            .strip()));
                }
                System.out.printf("%s direct %s carried %s%n", what, direct, carried);
                System.out.printf(
                        "%s medians %.2f and %.2f: x%.2f%n",
                        what, median(direct), median(carried), median(carried) / median(direct));
            }
        } finally {
            server.destroy();
        }
    }

    private static double direct(String client, String port, String what) throws IOException {
        Process process = new ProcessBuilder("python3", "-c", client, port, what)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return Double.parseDouble(process.inputReader().readLine());
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }

    private static void carry(Connection connection, int port) {
        try (Socket upstream = new Socket(InetAddress.getLoopbackAddress(), port)) {
            upstream.setTcpNoDelay(true);
            Thread back = Thread.startVirtualThread(() -> copy(upstream, connection));
            copy(connection.input(), upstream.getOutputStream());
            upstream.shutdownOutput();
            back.join();
        } catch (IOException | InterruptedException e) {
            System.err.println(e);
        }
    }

    private static void copy(Socket upstream, Connection connection) {
        try (OutputStream output = connection.output()) {
            copy(upstream.getInputStream(), output);
        } catch (IOException e) {
            System.err.println(e);
        }
    }

    private static void copy(InputStream from, OutputStream to) throws IOException {
        byte[] buffer = new byte[65_536];
        for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
            to.write(buffer, 0, n);
        }
    }
}
