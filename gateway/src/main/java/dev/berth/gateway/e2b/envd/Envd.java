package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Place;
import dev.berth.gateway.e2b.PortService;
import dev.berth.gateway.e2b.Routes;
import dev.berth.gateway.e2b.Sandboxes;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.Sessions;
import dev.berth.session.process.Processes;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** Answers for E2B's daemon on port 49983 of a sandbox: health, metrics, commands, terminals and files. */
public final class Envd implements PortService, AutoCloseable {
    private static final Duration WATCHERS_UNASKED = Duration.ofMinutes(15);

    private final Sandboxes sandboxes;
    private final Gate gate;
    private final SignedPlaces signed;
    private final Downfalls downfalls = new Downfalls();
    private final WatchService watches = new WatchService(downfalls, WATCHERS_UNASKED, new SecureRandom());
    private final Metrics metrics;
    private final Connect connect;

    /** What E2B's own hosts ask of their daemon, and nobody else may. */
    private static final Set<String> FOR_HOSTS =
            Set.of("/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade");

    /** @param secure whether a sandbox is opened by its token only */
    public Envd(
            Sessions sessions,
            Sandboxes sandboxes,
            Tokens tokens,
            Processes processes,
            Predicate<SessionInfo> secure,
            InstantSource clock) {
        this.sandboxes = sandboxes;
        this.gate = new Gate(tokens, secure, clock);
        this.signed = new SignedPlaces(sessions, tokens);
        this.metrics = new Metrics(clock);
        Map<String, Connect.Method> methods = new HashMap<>();
        new ProcessService(processes, downfalls).methods(methods::put);
        new FilesystemService().methods(methods::put);
        watches.methods(methods::put);
        this.connect = new Connect(methods);
    }

    /** Files by signed addresses on a host that all sandboxes share, where the signature alone says whose they are. */
    public void routes(Routes routes) {
        routes.on("GET", "/files", this::signed)
                .on("POST", "/files", this::signed)
                .on("OPTIONS", "/files", this::signed);
    }

    /** Answers for the sandbox whose token an address was signed with. */
    public void signed(Call call) throws IOException {
        if (Cors.answered(call)) {
            return;
        }
        Signature.Operation operation = operation(call);
        serve(signed.find(call, gate, operation).id(), call);
    }

    @Override
    public void serve(Place place, Call call) throws IOException {
        if (Cors.answered(call)) {
            return;
        }
        serve(place.sandbox(), call);
    }

    private void serve(String id, Call call) throws IOException {
        if (FOR_HOSTS.contains(call.uriPath())) {
            throw new E2bError(404, "not found");
        }
        try (Session session = sandboxes.enter(id, info -> gate.check(info, call))) {
            signed.used(session.key());
            answer(new Visit(session, call));
        } catch (SandboxException e) {
            throw Sandboxes.seen(id, e);
        }
    }

    private void answer(Visit visit) throws IOException {
        Call call = visit.call();
        if (connect.knows(call.uriPath())) {
            connect.answer(visit);
            return;
        }
        switch (call.method() + " " + call.uriPath()) {
            case "GET /health" -> call.header("Cache-Control", "no-store").answer(204);
            case "GET /metrics" -> call.header("Cache-Control", "no-store").answer(200, metrics.of(visit.session()));
            case "GET /envs" ->
                call.header("Cache-Control", "no-store")
                        .answer(200, visit.sandbox().env());
            case "GET /files" -> {
                gate.checkFile(visit.session().info(), call, Signature.Operation.READ);
                Download.answer(visit);
            }
            case "POST /files" -> {
                gate.checkFile(visit.session().info(), call, Signature.Operation.WRITE);
                Upload.answer(visit);
            }
            case "POST /files/compose" -> Compose.answer(visit);
            default -> throw new E2bError(404, "404 page not found");
        }
    }

    private static Signature.Operation operation(Call call) {
        return call.method().equals("GET") ? Signature.Operation.READ : Signature.Operation.WRITE;
    }

    /** Breaks off what is being told, so that nobody waits for it, and ends what is watched. */
    @Override
    public void close() {
        downfalls.close();
        watches.close();
    }
}
