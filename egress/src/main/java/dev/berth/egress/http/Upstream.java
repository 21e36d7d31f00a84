package dev.berth.egress.http;

import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.eclipse.jetty.client.Destination;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.HttpUpgrader;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.client.Result;
import org.eclipse.jetty.client.UpgradeProtocolHandler;
import org.eclipse.jetty.client.transport.HttpClientConnectionFactory;
import org.eclipse.jetty.client.transport.HttpClientTransportDynamic;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.HttpCookieStore;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.client.transport.ClientConnectionFactoryOverHTTP2;
import org.eclipse.jetty.io.ClientConnector;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Promise;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.jspecify.annotations.Nullable;

/** Speaks with servers outside: HTTP/1.1 and HTTP/2, in clear or in TLS that is verified, at given addresses only. */
final class Upstream implements AutoCloseable {
    private static final int MOST_CONNECTIONS = 256;
    private static final int MOST_WAITING = 1024;
    private static final long LANE_IDLE_MILLIS = 60_000;

    private final HttpClient client;
    private final Limits limits;

    /** @param trusted whose certificates are taken; empty for whom the JDK trusts */
    Upstream(Limits limits, Optional<KeyStore> trusted, Executor executor) {
        this.limits = limits;
        SslContextFactory.Client tls = new SslContextFactory.Client();
        tls.setEndpointIdentificationAlgorithm("HTTPS");
        trusted.ifPresent(tls::setTrustStore);
        ClientConnector connector = new ClientConnector();
        connector.setSslContextFactory(tls);
        connector.setExecutor(executor);
        HTTP2Client http2 = new HTTP2Client(connector);
        http2.setMaxResponseHeadersSize(limits.headerBytes());
        // In clear it is the first one that is spoken, as nothing tells what a server knows.
        client = new HttpClient(new HttpClientTransportDynamic(
                connector, HttpClientConnectionFactory.HTTP11, new ClientConnectionFactoryOverHTTP2.HTTP2(http2)));
        client.setExecutor(executor);
        client.setConnectTimeout(limits.connect().toMillis());
        client.setIdleTimeout(limits.idle().toMillis());
        client.setSocketAddressResolver(Upstream::addresses);
        client.setMaxConnectionsPerDestination(MOST_CONNECTIONS);
        client.setMaxRequestsQueuedPerDestination(MOST_WAITING);
        client.setDestinationIdleTimeout(LANE_IDLE_MILLIS);
        client.setMaxResponseHeadersSize(limits.headerBytes());
        client.setMaxRequestHeadersSize(2 * limits.headerBytes()); // secrets come on top
        client.setRequestBufferSize(16 << 10);
        client.setResponseBufferSize(32 << 10);
        client.setHttpCompliance(HttpCompliance.RFC9110);
        client.setFollowRedirects(false);
        client.setUserAgentField(null);
        client.setDefaultRequestContentType(null);
        client.setHttpCookieStore(new HttpCookieStore.Empty());
    }

    void start() throws Exception {
        client.start();
        // What a program asks for is what it gets, also if that is a redirect or a password prompt.
        client.getContentDecoderFactories().clear();
        client.getProtocolHandlers().clear();
        client.getProtocolHandlers().put(new UpgradeProtocolHandler());
    }

    @Override
    public void close() {
        org.eclipse.jetty.util.component.LifeCycle.stop(client);
    }

    private static void addresses(
            String host, int port, Map<String, Object> context, Promise<List<InetSocketAddress>> promise) {
        Destination destination = (Destination) context.get(Destination.CONTEXT_KEY);
        if (destination != null && destination.getOrigin().getTag() instanceof Lane lane) {
            promise.succeeded(lane.addresses().stream()
                    .map(address -> new InetSocketAddress(
                            named(lane.target().host(), address), lane.target().port()))
                    .toList());
        } else {
            promise.failed(new IllegalStateException("a connection to an address that nobody has checked"));
        }
    }

    /** With the name that a certificate has to be for: Jetty takes it from here. */
    private static InetAddress named(String host, InetAddress address) {
        try {
            return InetAddress.getByAddress(host, address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address has as many bytes as an address", e);
        }
    }

    /** A request that is under way. */
    final class Sending implements Response.Listener {
        private final Lane lane;
        private final Request request;
        private final CompletableFuture<Answer> answer = new CompletableFuture<>();

        private Sending(Lane lane, Request request) {
            this.lane = lane;
            this.request = request;
        }

        /** Waits for its head. */
        Answer answer() throws Refusal {
            try {
                return answer.get(limits.head().toNanos(), TimeUnit.NANOSECONDS);
            } catch (ExecutionException e) {
                throw Failures.of(lane.target(), e);
            } catch (TimeoutException e) {
                abort(e);
                throw Failures.of(lane.target(), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                abort(e);
                throw new Refusal(Reason.UNAVAILABLE, "the proxy stops", e);
            }
        }

        void abort(Throwable cause) {
            answer.completeExceptionally(cause);
            var _ = request.abort(cause);
        }

        @Override
        public void onContentSource(Response response, Content.Source body) {
            if (response.getStatus() < 200) {
                // It switches to something that nobody asked for.
                answer.completeExceptionally(Failures.garbage(lane.target()));
            } else {
                answer.complete(new Answer.Plain(response, body));
            }
        }

        @Override
        public void onComplete(Result result) {
            Throwable failure = result.getResponseFailure() == null ? result.getFailure() : result.getResponseFailure();
            answer.completeExceptionally(failure == null ? Failures.garbage(lane.target()) : failure);
        }

        private HttpUpgrader upgrader() {
            return new HttpUpgrader() {
                @Override
                public void prepare(Request prepared) {
                    // It has what it needs: the headers that the program wrote.
                }

                @Override
                public void upgrade(Response response, EndPoint endPoint, Callback callback) {
                    if (!answer.complete(new Answer.Switched(response, endPoint))) {
                        endPoint.close(); // nobody waits any more
                    }
                    callback.succeeded();
                }
            };
        }
    }

    /**
     * Begins to send a request.
     *
     * @param trailers what comes behind the body, asked for at its end
     * @param switching whether it asks to speak something else than HTTP from then on
     */
    Sending send(
            Lane lane, Head head, Optional<Upload> body, Supplier<@Nullable HttpFields> trailers, boolean switching) {
        URI origin = URI.create((lane.tls() ? "https" : "http") + "://" + lane.target());
        ExactRequest request = new ExactRequest(client, origin, head);
        request.method(head.method());
        request.headers(fields -> {
            fields.clear();
            head.fields().forEach(field -> fields.add(field.name(), field.value()));
        });
        request.tag(lane);
        Sending sending = new Sending(lane, request);
        body.ifPresent(upload -> {
            request.body(upload);
            request.trailersSupplier(trailers);
        });
        if (switching) {
            request.version(HttpVersion.HTTP_1_1);
            request.attribute(HttpUpgrader.Factory.class.getName(), (HttpUpgrader.Factory) _ -> sending.upgrader());
        }
        request.send(sending);
        return sending;
    }
}
