package dev.berth.egress.http;

import dev.berth.egress.http.Head.Field;
import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Target;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Outlet;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.HttpStream;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request of a program and its answer, on a thread that can wait; a second one carries a body out meanwhile. */
final class Exchange {
    private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);
    private static final int BUFFER = 32 << 10;
    /** Of a body that nobody wants: many programs do not look at an answer before they have sent it. */
    private static final long MOST_DRAINED = 4 << 20;

    private static final Duration DRAINING = Duration.ofSeconds(3);
    private static final byte STAR = '*';

    /** What all exchanges share. */
    record Parts(Gate gate, Upstream upstream, Limits limits, Executor executor, String pseudonym) {}

    private final Parts parts;
    private final Request request;
    private final Response response;
    private final Callback callback;
    private final StreamEndPoint below;
    private final Policy policy;
    private final Account account;
    private final Pieces body;
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private @Nullable Target target;

    Exchange(Parts parts, Request request, Response response, Callback callback) {
        this.parts = parts;
        this.request = request;
        this.response = response;
        this.callback = callback;
        EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
        this.below = StreamConnector.below(endPoint);
        this.policy = below.passage().policy();
        this.account = below.passage().account();
        this.body = new Pieces(request);
    }

    void run() {
        // Who is waited for is the server outside, for as long as the limits say.
        request.addIdleTimeoutListener(_ -> false);
        try {
            pass();
        } catch (Refusal refusal) {
            refuse(refusal);
        } catch (RuntimeException e) {
            // Without its message, here and in Jetty's log: that may hold a secret.
            LOG.warn("a request failed in the proxy: {} at {}", e.getClass().getName(), e.getStackTrace());
            broken(new Refusal(Reason.UNAVAILABLE, "the proxy failed at this request; try again"));
        }
    }

    private void pass() throws Refusal {
        Target asked = asked();
        target = asked;
        refuseLoop();
        HttpURI uri = request.getHttpURI();
        String path = uri.getPath() == null ? "/" : uri.getPath();
        Way way = way(asked);
        parts.gate.request(policy, asked, request.getMethod(), path);
        boolean tls = request.isSecure();
        boolean switching = switching();
        Head head = head(asked, path, Optional.ofNullable(uri.getQuery()), switching);
        Filled filled = Filling.fill(policy, asked, tls, head);
        count(sent, size(filled.head()));
        send(new Lane(account, asked, tls, Set.copyOf(way.addresses())), filled, switching);
    }

    // ---- what it is for ------------------------------------------------------------------------------------------

    private Target asked() throws Refusal {
        if (request.getMethod().equals("CONNECT")) {
            throw new Refusal(Reason.BAD_REQUEST, "CONNECT can only be the first request of a connection");
        }
        HttpURI uri = request.getHttpURI();
        boolean secure = request.isSecure();
        Optional<Way> fixed = below.way();
        String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
        if (!scheme.equals(secure ? "https" : "http")) {
            throw new Refusal(
                    Reason.BAD_REQUEST,
                    fixed.isPresent()
                            ? "an address that begins with " + scheme + ": cannot be asked for on this connection"
                            : "the proxy takes addresses that begin with http:; for others, ask it to CONNECT");
        }
        int usual = secure ? 443 : 80;
        List<String> hosts = request.getHeaders().getValuesList(HttpHeader.HOST);
        boolean old = request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_0;
        if (fixed.isPresent() && old && hosts.isEmpty()) {
            return fixed.get().target();
        }
        Target asked = Target.parse(String.valueOf(uri.getAuthority()), usual);
        for (String host : hosts) {
            if (!Target.parse(host, usual).equals(asked)) {
                throw new Refusal(Reason.HOST_MISMATCH, "this request is for " + asked + " and for " + host);
            }
        }
        if (fixed.isPresent() && !fixed.get().target().equals(asked)) {
            throw new Refusal(
                    Reason.HOST_MISMATCH,
                    "this request is for " + asked + ", on a connection to "
                            + fixed.get().target());
        }
        boolean self = asked.port() == Outlet.PORT
                && (asked.host().equals("localhost")
                        || asked.address()
                                .filter(java.net.InetAddress::isLoopbackAddress)
                                .isPresent());
        if (fixed.isEmpty() && self) {
            throw new Refusal(
                    Reason.BAD_REQUEST, "this is the proxy itself; ask it for an address that begins with http:");
        }
        return asked;
    }

    private void refuseLoop() throws Refusal {
        boolean seen = request.getHeaders().getValuesList(HttpHeader.VIA).stream()
                .anyMatch(via -> via.contains(parts.pseudonym));
        if (seen) {
            throw new Refusal(Reason.LOOP, "this request has come through this proxy before");
        }
    }

    /** What was decided at the beginning of the connection holds for as long as nothing was changed. */
    private Way way(Target asked) throws Refusal {
        Optional<Way> fixed = below.way();
        if (fixed.isPresent() && below.unchanged(policy.network(), policy.bindings())) {
            return fixed.get();
        }
        return parts.gate.connection(policy, asked);
    }

    /** Whether the program wants to speak WebSocket, and can: nothing else is known to be safe to switch to. */
    private boolean switching() {
        return request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_1
                && request.getMethod().equals("GET")
                && request.getHeaders().contains(HttpHeader.CONNECTION, "upgrade")
                && "websocket".equalsIgnoreCase(request.getHeaders().get(HttpHeader.UPGRADE))
                && request.getLength() <= 0
                && !request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING);
    }

    private Head head(Target asked, String path, Optional<String> query, boolean switching) {
        HttpFields headers = request.getHeaders();
        Set<String> named = Headers.named(headers.getValuesList(HttpHeader.CONNECTION));
        List<Field> fields = new ArrayList<>();
        int usual = request.isSecure() ? 443 : 80;
        String host = asked.toString();
        fields.add(new Field("Host", asked.port() == usual ? host.substring(0, host.lastIndexOf(':')) : host));
        for (HttpField field : headers) {
            String value = field.getValue();
            if (value != null && Headers.goesOut(field.getName(), named)) {
                fields.add(new Field(field.getName(), value));
            }
        }
        List<String> via = new ArrayList<>(headers.getValuesList(HttpHeader.VIA));
        via.add("1.1 " + parts.pseudonym);
        fields.add(new Field("Via", String.join(", ", via)));
        if (switching) {
            fields.add(new Field("Connection", "Upgrade"));
            fields.add(new Field("Upgrade", "websocket"));
        } else if (isHttp2() && headers.contains(HttpHeader.TE, "trailers")) {
            fields.add(new Field("TE", "trailers")); // gRPC insists on it
        }
        if (request.getLength() == 0 && headers.contains(HttpHeader.CONTENT_LENGTH)) {
            fields.add(new Field("Content-Length", "0"));
        }
        return new Head(request.getMethod(), path, query, fields);
    }

    private boolean isHttp2() {
        return request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_2;
    }

    // ---- out -----------------------------------------------------------------------------------------------------

    private void send(Lane lane, Filled filled, boolean switching) throws Refusal {
        Optional<Upload> upload = upload();
        Head head = filled.secrets().isEmpty() ? filled.head() : unencoded(filled.head());
        Upstream.Sending sending =
                parts.upstream.send(lane, head, upload, () -> body.trailers().orElse(null), switching);
        request.addFailureListener(sending::abort);
        Optional<Thread> sender =
                upload.map(to -> Thread.ofVirtual().name("egress-body").start(() -> carryBody(to, sending)));
        Answer answer;
        try {
            answer = sending.answer();
        } catch (Refusal refusal) {
            finish(sender);
            throw refusal;
        }
        int status = answer.response().getStatus();
        for (String secret : filled.secrets()) {
            policy.used(new Use(secret, lane.target(), head.method(), head.path(), status));
        }
        Finder values = new Finder(filled.spellings());
        switch (answer) {
            case Answer.Switched switched -> tunnel(switched, values);
            case Answer.Plain plain -> {
                try {
                    Optional<String> encoding =
                            encoding(plain, !filled.secrets().isEmpty());
                    carryAnswer(plain, encoding, values);
                } catch (Refusal | IOException e) {
                    sending.abort(e);
                    finish(sender);
                    broken(e);
                    return;
                }
                finish(sender);
                visited(Optional.empty(), head + " " + status);
                callback.succeeded();
            }
        }
    }

    /** An answer that may have to be searched for a value should not be compressed. */
    private static Head unencoded(Head head) {
        List<Field> fields = new ArrayList<>(head.fields());
        fields.removeIf(field -> field.is("Accept-Encoding"));
        fields.add(new Field("Accept-Encoding", "identity"));
        return new Head(head.method(), head.path(), head.query(), fields);
    }

    private Optional<Upload> upload() throws Refusal {
        HttpFields headers = request.getHeaders();
        if (headers.contains(HttpHeader.TRANSFER_ENCODING)) {
            return Optional.of(new Upload(-1));
        }
        if (request.getLength() == 0) {
            return Optional.empty(); // its head says so, and a server need not wait for an end that is here already
        }
        if (headers.contains(HttpHeader.CONTENT_LENGTH)) {
            return Optional.of(new Upload(request.getLength()));
        }
        if (!isHttp2() || headers.contains(HttpHeader.EXPECT)) {
            return isHttp2() ? Optional.of(new Upload(-1)) : Optional.empty();
        }
        // HTTP/2 need not say whether a body comes, but a request without one has ended already.
        try {
            boolean none = body.isReady() && body.isAtEnd();
            return none ? Optional.empty() : Optional.of(new Upload(-1));
        } catch (IOException e) {
            throw new Refusal(Reason.BAD_REQUEST, "this request broke off", e);
        }
    }

    private void carryBody(Upload upload, Upstream.Sending sending) {
        List<Binding> bindings = policy.bindings();
        Sieve sieve = new Sieve(new Finder(bindings.stream()
                .map(binding -> binding.placeholder().getBytes(StandardCharsets.UTF_8))
                .toList()));
        try {
            if (!upload.awaitWanted(parts.limits.head().toSeconds())) {
                return; // whoever waits for the answer has given up too
            }
            byte[] buffer = new byte[BUFFER];
            for (int n = body.read(buffer, 0, BUFFER); n >= 0; n = body.read(buffer, 0, BUFFER)) {
                ByteBuffer piece = sieve.pass(buffer, n, (bytes, from, to) -> {
                    throw stray(bindings, bytes, from, to);
                });
                count(sent, piece.remaining());
                if (!taken(() -> upload.send(piece))) {
                    drain();
                    return;
                }
            }
            refuseInTrailers(bindings);
            byte[] rest = sieve.rest();
            count(sent, rest.length);
            var _ = taken(() -> {
                upload.send(ByteBuffer.wrap(rest));
                upload.end();
            });
        } catch (IOException e) {
            sending.abort(e); // the program has gone, or its answer is complete
        } catch (Refusal refusal) {
            sending.abort(refusal);
            drain();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            sending.abort(e);
        }
    }

    private interface Writing {
        void write() throws IOException;
    }

    /** Whether the server outside takes more. If not, its answer says why, or that it broke off. */
    private static boolean taken(Writing writing) {
        try {
            writing.write();
            return true;
        } catch (IOException e) {
            LOG.debug("a server takes no more of a body", e);
            return false;
        }
    }

    private Refusal stray(List<Binding> bindings, byte[] bytes, int from, int to) {
        String text = new String(bytes, from, to - from, StandardCharsets.UTF_8);
        return bindings.stream()
                .filter(binding -> binding.placeholder().equals(text))
                .map(binding -> Filling.stray(binding, target()))
                .findFirst()
                .orElseThrow();
    }

    private Target target() {
        return java.util.Objects.requireNonNull(target);
    }

    private void refuseInTrailers(List<Binding> bindings) throws Refusal {
        for (HttpField field : body.trailers().orElse(HttpFields.EMPTY)) {
            for (Binding binding : bindings) {
                if (String.valueOf(field.getValue()).contains(binding.placeholder())) {
                    throw Filling.stray(binding, target());
                }
            }
        }
    }

    private void drain() {
        byte[] buffer = new byte[BUFFER];
        try {
            long left = MOST_DRAINED;
            for (int n = body.read(buffer, 0, BUFFER); n >= 0 && left > 0; n = body.read(buffer, 0, BUFFER)) {
                left -= n;
            }
        } catch (IOException e) {
            LOG.debug("the rest of a body did not come", e);
        }
    }

    /** Nobody needs the rest of the body, but a program that still sends it should get to see its answer. */
    private void finish(Optional<Thread> sender) {
        if (sender.isEmpty()) {
            return;
        }
        try {
            if (isHttp2() || !sender.get().join(DRAINING)) {
                body.stop();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            body.stop();
        }
    }

    // ---- back ----------------------------------------------------------------------------------------------------

    /** What has to be undone before the body can be searched. */
    private Optional<String> encoding(Answer.Plain answer, boolean searched) throws Refusal {
        String encoding = String.join(",", answer.response().getHeaders().getValuesList(HttpHeader.CONTENT_ENCODING))
                .strip()
                .toLowerCase(Locale.ROOT);
        if (!searched || encoding.isEmpty() || encoding.equals("identity") || !hasBody(answer)) {
            return Optional.empty();
        }
        if (!Set.of("gzip", "x-gzip", "deflate").contains(encoding)) {
            throw new Refusal(
                    Reason.UPSTREAM_GARBAGE,
                    target() + " has answered in the encoding " + encoding
                            + ", in which a secret could come back unseen");
        }
        return Optional.of(encoding);
    }

    private boolean hasBody(Answer.Plain answer) {
        int status = answer.response().getStatus();
        return !request.getMethod().equals("HEAD") && status != 204 && status != 304;
    }

    private void carryAnswer(Answer.Plain answer, Optional<String> encoding, Finder values)
            throws IOException, Refusal {
        Pieces pieces = new Pieces(answer.body());
        begin(answer, encoding, values);
        if (!pieces.isReady()) {
            write(false, BufferUtil.EMPTY_BUFFER); // the program sees the head, however long the rest takes
        }
        InputStream in = encoding.isPresent() ? decoded(pieces, encoding.get()) : pieces;
        Sieve sieve = new Sieve(values);
        byte[] buffer = new byte[BUFFER];
        for (int n = in.read(buffer, 0, BUFFER); n >= 0; n = in.read(buffer, 0, BUFFER)) {
            ByteBuffer piece = sieve.pass(buffer, n, (bytes, from, to) -> Arrays.fill(bytes, from, to, STAR));
            if (piece.hasRemaining()) {
                count(received, piece.remaining());
                write(false, piece);
            }
        }
        byte[] rest = sieve.rest();
        count(received, rest.length);
        write(true, ByteBuffer.wrap(rest));
    }

    private static InputStream decoded(InputStream in, String encoding) throws IOException {
        return encoding.equals("deflate") ? new InflaterInputStream(in) : new GZIPInputStream(in, BUFFER);
    }

    private void begin(Answer.Plain answer, Optional<String> encoding, Finder values) throws Refusal {
        HttpFields headers = answer.response().getHeaders();
        response.setStatus(answer.response().getStatus());
        int size = copyHeaders(headers, values);
        count(received, size);
        encoding.ifPresent(_ -> response.getHeaders().remove(HttpHeader.CONTENT_ENCODING));
        String length = headers.get(HttpHeader.CONTENT_LENGTH);
        if (length != null && encoding.isEmpty() && answer.response().getStatus() != 204) {
            response.getHeaders().put(HttpHeader.CONTENT_LENGTH, length);
        }
        if (isHttp2() || headers.contains(HttpHeader.TRAILER)) {
            response.setTrailersSupplier(() -> trailers(answer, values));
        }
    }

    private @Nullable HttpFields trailers(Answer.Plain answer, Finder values) {
        HttpFields trailers = answer.response().getTrailers();
        if (trailers == null || trailers.size() == 0) {
            return null;
        }
        HttpFields.Mutable clean = HttpFields.build();
        for (HttpField field : trailers) {
            clean.add(field.getName(), scrubbed(String.valueOf(field.getValue()), values));
        }
        return clean;
    }

    private int copyHeaders(HttpFields headers, Finder values) {
        int size = 0;
        Set<String> named = Headers.named(headers.getValuesList(HttpHeader.CONNECTION));
        for (HttpField field : headers) {
            String value = field.getValue();
            if (value != null && Headers.comesIn(field.getName(), named)) {
                response.getHeaders().add(field.getName(), scrubbed(value, values));
                size += field.getName().length() + value.length() + 4;
            }
        }
        return size;
    }

    private static String scrubbed(String text, Finder values) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (values.isEmpty() || values.find(bytes, 0, bytes.length).from() < 0) {
            return text;
        }
        Sieve sieve = new Sieve(values);
        ByteBuffer passed = sieve.pass(bytes, bytes.length, (all, from, to) -> Arrays.fill(all, from, to, STAR));
        return StandardCharsets.UTF_8.decode(passed) + new String(sieve.rest(), StandardCharsets.UTF_8);
    }

    private void write(boolean last, ByteBuffer bytes) throws IOException {
        try (Blocker.Callback written = Blocker.callback()) {
            response.write(last, bytes, written);
            written.block();
        }
    }

    private void tunnel(Answer.Switched switched, Finder values) throws Refusal {
        HttpFields headers = switched.response().getHeaders();
        response.setStatus(101);
        count(received, copyHeaders(headers, values));
        response.getHeaders().put(HttpHeader.CONNECTION, "Upgrade");
        response.getHeaders().put(HttpHeader.UPGRADE, "websocket");
        Tunnel tunnel = new Tunnel(
                request.getConnectionMetaData().getConnection().getEndPoint(),
                switched.endPoint(),
                parts.executor,
                account,
                parts.limits.idle().toMillis(),
                (out, in, refusal) -> {
                    sent.addAndGet(out);
                    received.addAndGet(in);
                    visited(
                            refusal.map(Refusal::reason),
                            refusal.map(Refusal::getMessage).orElse("WebSocket"));
                });
        Request.addCompletionListener(request, failure -> {
            if (failure != null) {
                tunnel.abandon();
            }
        });
        request.setAttribute(HttpStream.UPGRADE_CONNECTION_ATTRIBUTE, tunnel.program());
        callback.succeeded();
    }

    // ---- how it ends ---------------------------------------------------------------------------------------------

    /** Something failed after the answer of the server outside had begun. */
    private void broken(Exception e) {
        Refusal refusal = e instanceof Refusal known ? known : Failures.of(target(), e);
        if (response.isCommitted()) {
            visited(Optional.of(refusal.reason()), refusal.getMessage());
            // The program finds an answer that broke off, not one that looks complete.
            callback.failed(new IOException(refusal.getMessage()));
        } else {
            refuse(refusal);
        }
    }

    private void refuse(Refusal refusal) {
        visited(Optional.of(refusal.reason()), refusal.getMessage());
        RefusalPages.write(response, refusal.reason(), refusal.getMessage(), callback);
    }

    private void visited(Optional<Reason> refused, String detail) {
        Target visited = target == null ? below.way().map(Way::target).orElse(null) : target;
        if (visited != null) {
            policy.visited(new Visit(visited, refused, detail, sent.get(), received.get()));
        }
    }

    private void count(AtomicLong direction, int bytes) throws Refusal {
        if (bytes > 0) {
            direction.addAndGet(bytes);
            account.pass(bytes);
        }
    }

    private static int size(Head head) {
        return head.fields().stream()
                        .mapToInt(field -> field.name().length() + field.value().length() + 4)
                        .sum()
                + head.method().length()
                + head.path().length()
                + head.query().map(String::length).orElse(0)
                + 12;
    }
}
