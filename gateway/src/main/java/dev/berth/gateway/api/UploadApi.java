package dev.berth.gateway.api;

import dev.berth.gateway.api.Calls.Access;
import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Files that people give to a session: attachments of messages, data to work on. */
public final class UploadApi {
    private final Calls calls;
    private final Uploads uploads;

    public UploadApi(Calls calls, Uploads uploads) {
        this.calls = calls;
        this.uploads = uploads;
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
        if (exchange.length().orElse(0) > Uploads.MOST_BYTES) {
            throw UploadInput.tooLarge(Uploads.MOST_BYTES);
        }
        String given = exchange.query("name").orElse("");
        Call call = new Call(exchange, "upload", Optional.empty(), Access.WRITE);
        return Answer.created(calls.in(
                        SessionApi.key(exchange),
                        calls.defaults(),
                        call,
                        session -> uploads.store(
                                session,
                                given,
                                exchange.stream(),
                                exchange.caller().name()),
                        _ -> 0)
                .value());
    }
}
