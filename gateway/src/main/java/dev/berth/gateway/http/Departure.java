package dev.berth.gateway.http;

import java.util.Optional;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.ConnectionMetaData;
import org.eclipse.jetty.server.Request;

/**
 * Tells that the client of a request has left while it is answered, however silent the answer is. A client that closes
 * its own direction only has left too, as it has for most servers.
 *
 * <p>It is for HTTP/1.1. In HTTP/2 the request itself fails then, as it does here until all of it was read.
 */
public final class Departure implements AutoCloseable {
    private final Optional<ClientEndPoint> client;
    private final Runnable left;

    private Departure(Optional<ClientEndPoint> client, Runnable left) {
        this.client = client;
        this.left = left;
    }

    /** @param left called once at most, and no more when this was closed */
    public static Departure of(Request request, Runnable left) {
        ConnectionMetaData connection = request.getConnectionMetaData();
        return new Departure(
                connection.getHttpVersion() == HttpVersion.HTTP_2
                        ? Optional.empty() // many requests share the connection
                        : client(connection.getConnection().getEndPoint()),
                left);
    }

    private static Optional<ClientEndPoint> client(EndPoint end) {
        return switch (end) {
            case SslConnection.SslEndPoint secure ->
                client(secure.getSslConnection().getEndPoint());
            case ClientEndPoint client -> Optional.of(client);
            default -> Optional.empty();
        };
    }

    /** Begins; only when all of the request was read, and before it is completed. */
    public void watch() {
        client.ifPresent(it -> it.watch(left));
    }

    @Override
    public void close() {
        client.ifPresent(it -> it.watch(null));
    }
}
