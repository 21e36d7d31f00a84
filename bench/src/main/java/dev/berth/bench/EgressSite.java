package dev.berth.bench;

import dev.berth.bench.report.Series;
import dev.berth.egress.Egress;
import dev.berth.egress.EgressConfig;
import dev.berth.egress.OwnAddresses;
import dev.berth.egress.http.Inspector;
import dev.berth.egress.http.Limits;
import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.trust.Authority;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.Signal;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A sandbox with a restricted network, the proxy of its way out, a server on the loopback of this machine, and the same
 * program twice: in the sandbox, which goes through the proxy, and beside it with the sandbox's files as its root, which
 * connects to the server.
 */
final class EgressSite implements AutoCloseable {
    static final String DIRECT = "direct";

    private static final String PYTHON = "/usr/bin/python3";
    private static final String HOST = "server.bench";
    /** The same server, under a name to which a secret is bound. */
    private static final String KEYED_HOST = "keyed.bench";

    private static final String KEY = "the-key-that-is-in-no-sandbox";
    private static final String PROGRAM = "/var/tmp/visitor.py";
    private static final String TRUSTED = "/var/tmp/trusted.pem";
    private static final String TRUSTED_INSIDE = "/var/tmp/trusted-inside.pem";

    private final Deque<Closeable> open = new ArrayDeque<>();
    private final Progress progress;
    private final FarServer server;
    private final Visitor through;
    private final Visitor direct;

    private EgressSite(Rig rig, Path directory) throws Exception {
        this.progress = rig.progress();
        SecureRandom random = new SecureRandom();
        Authority berth = Authority.in(directory.resolve("berth"), Clock.systemUTC(), random);
        Authority world = Authority.in(directory.resolve("world"), Clock.systemUTC(), random);
        try {
            server = new FarServer(world.context(HOST), world.context(KEYED_HOST), KEY);
            open.push(server::close);
            Gate gate = new Gate(_ -> List.of(InetAddress.ofLiteral("127.0.0.1")), new OwnAddresses());
            Inspector http = new Inspector(gate, berth, Limits.USUAL, Optional.of(trust(world)), random);
            EgressPolicy policy = policy(server);
            Egress egress = new Egress(EgressConfig.DEFAULT, gate, _ -> policy, http);
            open.push(egress::close);
            Site site = rig.openSite(0);
            open.push(site::close);
            site.provider().outlet(egress);
            Sandbox sandbox = site.provider().create(rig.spec().withNetwork(policy.network()));
            equip(sandbox, Map.of(TRUSTED, world.certificatePem(), TRUSTED_INSIDE, berth.certificatePem()));
            through = inside(sandbox);
            open.push(through::close);
            direct = beside(site.root(sandbox.id()));
            open.push(direct::close);
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    static EgressSite open(Rig rig) throws Exception {
        return new EgressSite(rig, rig.newDirectory());
    }

    private static EgressPolicy policy(FarServer server) throws IOException {
        Integer[] ports = {server.plainPort(), server.tlsPort(), server.httpPort()};
        Network network = Network.restricted(
                        Rule.to(HOST).withPorts(ports), Rule.to("127.0.0.1/32").withPorts(ports))
                .withSecrets(List.of("KEY"));
        Binding binding = new Binding(
                "KEY",
                "berth-key-placeholder",
                List.of(Domain.of(KEYED_HOST)),
                List.of(server.httpPort()),
                List.of(),
                List.of(),
                new Binding.Place.Header("Authorization", "Bearer {}"),
                false);
        return new EgressPolicy(network, List.of(binding), KEY);
    }

    private static KeyStore trust(Authority authority) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setCertificateEntry("world", authority.certificate());
        return store;
    }

    private static void equip(Sandbox sandbox, Map<String, String> files) throws IOException {
        files.forEach((path, text) ->
                sandbox.files().write(path, new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8))));
        try (InputStream program = EgressSite.class.getResourceAsStream("visitor.py")) {
            sandbox.files().write(PROGRAM, Objects.requireNonNull(program));
        }
    }

    private static Visitor inside(Sandbox sandbox) {
        RunningCommand command = sandbox.start(
                Command.of(PYTHON, PROGRAM, String.valueOf(Outlet.PORT)).withStdin());
        return new Visitor(command.stdin(), command.stdout(), () -> {
            command.signal(Signal.KILL);
            command.close();
        });
    }

    private static Visitor beside(Path root) throws IOException {
        Process process = new ProcessBuilder("chroot", root.toString(), PYTHON, PROGRAM, "0", KEY)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new Visitor(process.getOutputStream(), process.getInputStream(), () -> {
            process.destroyForcibly();
            process.onExit().join();
        });
    }

    /** Carried as it is: a port that is neither that of HTTP nor of HTTPS may be used for any protocol. */
    Timings plain(String order, int count, int turns, int warmUp) throws IOException {
        String target = HOST + " " + server.plainPort();
        return compare(order, count, turns, warmUp, target, target);
    }

    /** TLS that nobody opens on the way. */
    Timings tls(String order, int count, int turns, int warmUp) throws IOException {
        String target = HOST + " " + server.tlsPort() + " " + TRUSTED;
        return compare(order, count, turns, warmUp, target, target);
    }

    /** HTTP in TLS that is opened on the way, where a secret is put into each request. */
    Timings keyed(String order, int count, int turns, int warmUp) throws IOException {
        String target = KEYED_HOST + " " + server.httpPort() + " ";
        return compare(order, count, turns, warmUp, target + TRUSTED_INSIDE, target + TRUSTED);
    }

    /** Has the two programs take turns, each beginning every other time; the first turns do not count. */
    private Timings compare(String order, int count, int turns, int warmUp, String throughTarget, String directTarget)
            throws IOException {
        List<Long> measured = new ArrayList<>();
        List<Long> compared = new ArrayList<>();
        for (int turn = -warmUp; turn < turns; turn++) {
            progress.step(turn + warmUp + 1, turns + warmUp);
            boolean counts = turn >= 0;
            for (boolean inside : turn % 2 == 0 ? new boolean[] {true, false} : new boolean[] {false, true}) {
                List<Long> nanos =
                        inside ? through.order(order, count, throughTarget) : direct.order(order, count, directTarget);
                if (counts) {
                    (inside ? measured : compared).addAll(nanos);
                }
            }
        }
        Map<String, Series> series = new LinkedHashMap<>();
        series.put(Contender.BERTH, new Series(measured));
        series.put(DIRECT, new Series(compared));
        return new Timings(series);
    }

    @Override
    public void close() throws IOException {
        IOException failure = null;
        while (!open.isEmpty()) {
            try {
                open.pop().close();
            } catch (IOException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
