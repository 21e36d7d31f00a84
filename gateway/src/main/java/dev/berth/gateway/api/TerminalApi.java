package dev.berth.gateway.api;

import com.networknt.schema.Schema;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.http.Socket;
import dev.berth.gateway.http.SocketEndpoint;
import dev.berth.gateway.terminal.End;
import dev.berth.gateway.terminal.Terminals;
import dev.berth.gateway.terminal.Watcher;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TerminalSize;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Terminals over WebSockets. Binary messages are what is typed and shown; text messages are JSON about the terminal
 * itself.
 */
public final class TerminalApi {
    private static final Logger LOG = LoggerFactory.getLogger(TerminalApi.class);
    private static final int CHUNK = 32 << 10;
    private static final int NORMAL = 1000;

    private final Sessions sessions;
    private final Terminals terminals;
    private final Schema control;

    public TerminalApi(Sessions sessions, Terminals terminals, Contract contract) {
        this.sessions = sessions;
        this.terminals = terminals;
        this.control = contract.schema("TerminalControl");
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("terminals", this::list, "terminal", this::get, "endTerminal", this::end);
    }

    public Map<String, SocketEndpoint> sockets() {
        return Map.of("terminal", this::open);
    }

    private Answer list(Exchange exchange) {
        SessionInfo info = SessionApi.known(sessions, SessionApi.key(exchange));
        return Answer.ok(Map.of(
                "terminals",
                terminals.list(info).stream().map(TerminalApi::show).toList()));
    }

    private Answer get(Exchange exchange) {
        SessionInfo info = SessionApi.known(sessions, SessionApi.key(exchange));
        String name = exchange.path("terminal");
        return Answer.ok(terminals.list(info).stream()
                .filter(it -> it.name().equals(name))
                .map(TerminalApi::show)
                .findFirst()
                .orElseThrow(TerminalApi::unknown));
    }

    private Answer end(Exchange exchange) {
        SessionInfo info = SessionApi.known(sessions, SessionApi.key(exchange));
        if (!terminals.end(info, exchange.path("terminal"), exchange.caller().name())) {
            throw unknown();
        }
        return Answer.done();
    }

    private static SandboxException unknown() {
        return SandboxException.notFound("the session has no such terminal; connect to one by a WebSocket to open it");
    }

    private static Map<String, Object> show(Terminals.OpenTerminal info) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("terminal", info.name());
        info.size().ifPresent(size -> {
            shown.put("cols", size.cols());
            shown.put("rows", size.rows());
        });
        shown.put("watchers", info.watchers());
        return shown;
    }

    // ---- talking -------------------------------------------------------------------------------------------------

    private SocketEndpoint.Talk open(Exchange exchange) {
        SessionKey key = SessionApi.known(sessions, SessionApi.key(exchange)).key();
        String name = exchange.path("terminal");
        String actor = exchange.caller().name();
        boolean watch = exchange.query("watch").map(Boolean::parseBoolean).orElse(false);
        Optional<TerminalSize> size = size(exchange);
        return socket -> {
            try (Watcher watcher = terminals.attach(key, name, size, !watch, actor)) {
                socket.whenGone(watcher::leave);
                socket.sendJson(attached(name, watcher));
                Thread.ofVirtual().name("terminal-output").start(() -> show(watcher, socket));
                listen(watcher, socket, watch);
            }
        };
    }

    private static Optional<TerminalSize> size(Exchange exchange) {
        Optional<String> cols = exchange.query("cols");
        Optional<String> rows = exchange.query("rows");
        if (cols.isPresent() != rows.isPresent()) {
            throw SandboxException.invalid("give both of 'cols' and 'rows', or none");
        }
        return cols.map(it -> new TerminalSize(Integer.parseInt(rows.orElseThrow()), Integer.parseInt(it)));
    }

    private static Map<String, Object> attached(String name, Watcher watcher) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("type", "attached");
        shown.put("terminal", name);
        shown.put("cols", watcher.size().cols());
        shown.put("rows", watcher.size().rows());
        shown.put("replayed_bytes", watcher.replayed());
        return shown;
    }

    /**
     * Takes what the client sends until it has gone. What one who only watches sends is passed over: programs that show
     * terminals answer the questions of other programs by themselves, as if their person had typed.
     */
    private void listen(Watcher watcher, Socket socket, boolean watch) throws InterruptedException {
        for (var message = socket.receive(); message.isPresent(); message = socket.receive()) {
            switch (message.get()) {
                case Socket.Message.Binary(byte[] bytes) -> {
                    if (!watch) {
                        watcher.type(bytes);
                    }
                }
                case Socket.Message.Text text -> {
                    ObjectNode wanted = text.json();
                    Contract.check(control, wanted);
                    if (!watch) {
                        watcher.resize(new TerminalSize(
                                wanted.path("rows").asInt(), wanted.path("cols").asInt()));
                    }
                }
            }
        }
    }

    /** Sends what is to be seen until there is no more, or the client has gone. */
    private static void show(Watcher watcher, Socket socket) {
        byte[] buffer = new byte[CHUNK];
        try {
            while (true) {
                switch (watcher.next(buffer)) {
                    case Watcher.Seen.Bytes(int length) -> socket.send(buffer, 0, length);
                    case Watcher.Seen.Skipped(long bytes) -> socket.sendJson(Map.of("type", "skipped", "bytes", bytes));
                    case Watcher.Seen.Ended(End how) -> {
                        tell(how, socket);
                        return;
                    }
                    case Watcher.Seen.Nothing() -> {
                        return;
                    }
                }
            }
        } catch (IOException e) {
            LOG.debug("a client has gone", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void tell(End how, Socket socket) throws IOException, InterruptedException {
        switch (how) {
            case End.Exited(int code) -> {
                socket.sendJson(Map.of("type", "exit", "exit_code", code));
                socket.close(NORMAL, "exit");
            }
            case End.Lost(SandboxException why) -> socket.close(why);
        }
    }
}
