package dev.berth.egress.http;

import java.net.URI;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.transport.HttpConversation;
import org.eclipse.jetty.client.transport.HttpRequest;
import org.jspecify.annotations.Nullable;

/** A request whose path goes out as it was checked. Jetty would read a path that begins with two slashes as a host. */
final class ExactRequest extends HttpRequest {
    private final Head head;

    ExactRequest(HttpClient client, URI origin, Head head) {
        super(client, new HttpConversation(), origin);
        this.head = head;
    }

    @Override
    public String getPath() {
        return head.path();
    }

    @Override
    public @Nullable String getQuery() {
        return head.query().orElse(null);
    }

    @Override
    @SuppressWarnings("NullAway") // as Jetty has it for what is no URI
    public @Nullable URI getURI() {
        return null;
    }
}
