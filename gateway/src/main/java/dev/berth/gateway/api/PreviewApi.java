package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.PreviewLinks;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

/** Links to ports of sessions; the ports themselves are served by the handler of previews. */
public final class PreviewApi {
    private static final int USUAL_SECONDS = 3600;

    private final Sessions sessions;

    public PreviewApi(Sessions sessions) {
        this.sessions = sessions;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("makeLink", this::makeLink);
    }

    private Answer makeLink(Exchange exchange) {
        SessionKey key = SessionApi.known(sessions, SessionApi.key(exchange)).key();
        int port = Integer.parseInt(exchange.path("port"));
        if (port < 1 || port > 65_535) {
            throw SandboxException.invalid("a port is a number from 1 to 65535");
        }
        int seconds = exchange.body().path("expires_in_seconds").asInt(USUAL_SECONDS);
        Instant expiresAt = Instant.now().plusSeconds(seconds).truncatedTo(ChronoUnit.SECONDS);
        boolean wake = exchange.body().path("wake").asBoolean(true);
        String token = sessions.previews().token(new PreviewLinks.Link(key, port, wake, expiresAt));
        return Answer.created(Map.of("url", "/v1/links/" + token + "/", "expires_at", expiresAt));
    }
}
