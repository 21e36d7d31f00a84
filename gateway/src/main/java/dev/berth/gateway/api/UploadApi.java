package dev.berth.gateway.api;

import dev.berth.gateway.api.Calls.Access;
import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.SafeName;
import dev.berth.tool.Workspace;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Files that people give to a session: attachments of messages, data to work on. */
public final class UploadApi {
    private static final String FOLDER = "uploads/";
    private static final long MOST_BYTES = 1L << 30;
    private static final int MOST_TRIED = 10_000;

    private final Calls calls;
    private final Sessions sessions;
    /** Names of uploads that are under way: two at a time must not get the same. */
    private final Set<Name> taken = ConcurrentHashMap.newKeySet();

    private record Name(SessionKey session, String name) {}

    public UploadApi(Calls calls, Sessions sessions) {
        this.calls = calls;
        this.sessions = sessions;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("makeUpload", this::make);
    }

    private Answer make(Exchange exchange) {
        if (exchange.header("Content-Type")
                .filter(type -> type.toLowerCase(Locale.ROOT).startsWith("multipart/"))
                .isPresent()) {
            throw SandboxException.invalid("send the file itself as the body, one for each request, with"
                    + " 'Content-Type: application/octet-stream'; forms are not taken here");
        }
        if (exchange.length().orElse(0) > MOST_BYTES) {
            throw UploadInput.tooLarge(MOST_BYTES);
        }
        String given = exchange.query("name").orElse("");
        Call call = new Call(exchange, "upload", Optional.empty(), Access.WRITE);
        Map<String, Object> stored = calls.in(
                        SessionApi.key(exchange),
                        calls.defaults(),
                        call,
                        session -> store(session, given, exchange),
                        _ -> 0)
                .value();
        return Answer.created(stored);
    }

    private Map<String, Object> store(Session session, String given, Exchange exchange) {
        SandboxFiles files = Workspace.of(session.sandbox()).files();
        Name name = take(session.key(), files, SafeName.of(given));
        try {
            UploadInput content = new UploadInput(exchange.stream(), MOST_BYTES);
            String path = FOLDER + name.name();
            files.write(path, content);
            Map<String, Object> stored = new LinkedHashMap<>();
            stored.put("path", path);
            stored.put("name", name.name());
            stored.put("renamed", !name.name().equals(given));
            stored.put("size", content.size());
            stored.put("sha256", content.sha256());
            sessions.events()
                    .append(
                            session.key(),
                            new SessionEvent("upload.stored", exchange.caller().name(), stored));
            return stored;
        } finally {
            taken.remove(name);
        }
    }

    /** The first name that neither a file has nor an upload that is under way. */
    private Name take(SessionKey key, SandboxFiles files, String safe) {
        for (int number = 1; number <= MOST_TRIED; number++) {
            Name name = new Name(key, number == 1 ? safe : SafeName.numbered(safe, number));
            if (taken.add(name)) {
                if (!files.exists(FOLDER + name.name())) {
                    return name;
                }
                taken.remove(name);
            }
        }
        throw SandboxException.conflict("there are already " + MOST_TRIED + " uploads of this name; remove some of them"
                + ", or choose another name");
    }
}
