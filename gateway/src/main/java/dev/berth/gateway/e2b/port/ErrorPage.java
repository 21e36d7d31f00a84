package dev.berth.gateway.e2b.port;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Place;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.util.StringUtil;

/** What a person sees who looks at a port that cannot answer. It needs nothing from elsewhere. */
final class ErrorPage {
    static final String TYPE = "text/html;charset=utf-8";

    private ErrorPage() {}

    /** Whether a browser goes there; programs take what they can read. */
    static boolean wanted(Call call) {
        return (call.method().equals("GET") || call.method().equals("HEAD"))
                && !call.response().isCommitted()
                && call.header("Accept")
                        .filter(accept -> accept.contains("text/html"))
                        .isPresent();
    }

    static byte[] of(Place place, E2bError error) {
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>%1$s</title>
            <style>
            :root { color-scheme: light dark }
            body { font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 15vh auto; padding: 0 1em }
            h1 { font-size: 1.4em }
            code { font-size: .95em }
            </style>
            <h1>%1$s</h1>
            <p>Sandbox <code>%2$s</code>, port <code>%3$d</code></p>
            <p>%4$s</p>
            """.formatted(
                        StringUtil.sanitizeXmlString(String.valueOf(error.getMessage())),
                        StringUtil.sanitizeXmlString(place.sandbox()),
                        place.port(),
                        hint(error.status()))
                .getBytes(StandardCharsets.UTF_8);
    }

    private static String hint(int status) {
        return switch (status) {
            case 401, 403 -> "This sandbox is not open to everybody.";
            case 502 -> "It may have ended or sleep, or no server listens on this port yet.";
            default -> "Load the page again in a moment.";
        };
    }
}
