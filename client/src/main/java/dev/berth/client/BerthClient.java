package dev.berth.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** A Berth server, for the holder of one key. For any number of threads. */
public final class BerthClient implements AutoCloseable {
    private static final int TRIES = 3;

    private final Transport transport;
    private final Optional<String> tenant;

    private BerthClient(Transport transport, Optional<String> tenant) {
        this.transport = transport;
        this.tenant = tenant;
    }

    /**
     * Connects with the first call.
     *
     * @param url such as {@code http://127.0.0.1:8080}
     * @param key of a tenant, or the operator's
     */
    public static BerthClient connect(String url, String key) {
        URI base = URI.create(url.endsWith("/") ? url : url + "/");
        String scheme = String.valueOf(base.getScheme());
        if (!(scheme.equals("http") || scheme.equals("https")) || base.getHost() == null) {
            throw new IllegalArgumentException(
                    "'" + url + "' is not the URL of a server, such as http://127.0.0.1:8080");
        }
        if (!key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw new IllegalArgumentException("a key has no spaces and no line ends; look at where it came from");
        }
        return new BerthClient(new Transport(base, key, TRIES), Optional.empty());
    }

    /** The same for what belongs to a tenant, with the operator's key. Shares the connections of this one. */
    public BerthClient forTenant(String tenant) {
        return new BerthClient(transport, Optional.of(tenant));
    }

    // ---- sessions ------------------------------------------------------------------------------------------------

    /** A session by its name, whether it is there or not; the first call in it makes it. */
    public SessionClient session(String id) {
        return new SessionClient(this, id);
    }

    /** The last used first. */
    public List<SessionInfo> sessions() {
        return sessions(Optional.empty(), Optional.empty(), false);
    }

    /**
     * The last used first.
     *
     * @param state those in this state only
     * @param usage whether to tell what those use that are up in the server that answers
     */
    public List<SessionInfo> sessions(Optional<String> state, Optional<Integer> limit, boolean usage) {
        Call call = Call.get("/v1/sessions").query("state", state).query("limit", limit);
        return list(usage ? call.query("usage", true) : call, "sessions", SessionInfo::of);
    }

    public SessionInfo make(NewSession session) {
        return SessionInfo.of(json(Call.create("/v1/sessions", session.fields().with("tenant_id", tenant))));
    }

    /** The kept checkpoints, the newest first. */
    public List<KeptCheckpoint> keptCheckpoints(Optional<String> session, int limit) {
        Call call = Call.get("/v1/checkpoints").query("session_id", session).query("limit", limit);
        return list(call, "checkpoints", KeptCheckpoint::of);
    }

    /** Sessions that were made from it keep their files. */
    public void deleteCheckpoint(String id) {
        done(Call.delete("/v1/checkpoints/" + Call.encode(id)));
    }

    // ---- everything else -----------------------------------------------------------------------------------------

    public Jobs jobs() {
        return new Jobs(this);
    }

    public Approvals approvals() {
        return new Approvals(this);
    }

    public Artifacts artifacts() {
        return new Artifacts(this);
    }

    public Webhooks webhooks() {
        return new Webhooks(this);
    }

    public Keys keys() {
        return new Keys(this);
    }

    public Secrets secrets() {
        return new Secrets(this);
    }

    public Admin admin() {
        return new Admin(this);
    }

    /** The tools as a model's tool list wants them. */
    public List<Json> tools() {
        return list(Call.get("/v1/tools"), "tools", tool -> tool);
    }

    /** Ends everything that is still under way. */
    @Override
    public void close() {
        transport.close();
    }

    // ---- for the other classes here --------------------------------------------------------------------------------

    Optional<String> tenant() {
        return tenant;
    }

    Transport transport() {
        return transport;
    }

    Json json(Call call) {
        return transport.json(scoped(call));
    }

    HttpResponse<InputStream> send(Call call) {
        return transport.send(scoped(call));
    }

    InputStream stream(Call call) {
        return send(call).body();
    }

    void done(Call call) {
        try {
            stream(call).close();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // of a body that nobody wants to read
        }
    }

    <T> List<T> list(Call call, String field, Function<Json, T> each) {
        return json(call).get(field).items().stream().map(each).toList();
    }

    /** Where the API takes the tenant beside the rest. Elsewhere it is in the path or the body, or comes from the key alone. */
    private Call scoped(Call call) {
        boolean said = call.body() instanceof Call.Body.Text(Json json)
                && json.get("tenant_id").exists();
        boolean takes = call.path().startsWith("/v1/sessions")
                || call.path().startsWith("/v1/checkpoints")
                || call.path().startsWith("/v1/jobs")
                || call.path().startsWith("/v1/secrets")
                || call.path().equals("/v1/sandbox/files");
        return takes && !said ? call.query("tenant_id", tenant) : call;
    }
}
