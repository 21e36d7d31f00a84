package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.Checkpoints;
import dev.berth.session.KeptCheckpoint;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionQuery;
import dev.berth.session.Sessions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Snapshots of sandboxes: checkpoints that outlive them, from which others can be made. */
final class SnapshotApi {
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9_-]{0,62}");
    private static final String TAG = ":default";

    private final Sessions sessions;
    private final Sandboxes sandboxes;
    private final Callers callers;

    SnapshotApi(Sessions sessions, Sandboxes sandboxes, Callers callers) {
        this.sessions = sessions;
        this.sandboxes = sandboxes;
        this.callers = callers;
    }

    void routes(Routes routes) {
        routes.on("POST", "/sandboxes/{sandboxID}/snapshots", this::create).on("GET", "/snapshots", this::list);
    }

    private void create(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        SessionInfo info = sandboxes.get(caller.tenant(), call.path("sandboxID"));
        Optional<String> name = Optional.of(call.json().path("name").asString(""))
                .filter(text -> !text.isEmpty())
                .map(text -> plain(caller.tenant(), text));
        name.filter(text -> !NAME.matcher(text).matches()).ifPresent(_ -> {
            throw new E2bError(400, "a snapshot's name has 1 to 63 characters of a-z, 0-9, '-' and '_'");
        });
        // A name that is taken means another version of the same: what has the name from now on is this one.
        Checkpoints checkpoints = sessions.checkpoints();
        call.answer(
                201,
                json(name.map(it -> checkpoints.replace(info.key(), it, caller.name()))
                        .orElseGet(() -> checkpoints.keep(info.key(), Optional.empty(), caller.name()))));
    }

    private void list(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        Page page = Page.read(call);
        List<KeptCheckpoint> found = sessions.checkpoints()
                .list(
                        caller.tenant(),
                        call.query("sandboxID").flatMap(Place::id),
                        call.query("name").map(name -> plain(caller.tenant(), name)),
                        page.after(),
                        page.limit() + 1);
        List<KeptCheckpoint> shown = page.cut(found);
        if (found.size() > shown.size()) {
            KeptCheckpoint last = shown.getLast();
            call.header(Page.NEXT, Page.token(new SessionQuery.Cursor(last.createdAt(), last.id())));
        }
        call.answer(200, shown.stream().map(SnapshotApi::json).toList());
    }

    /** Removes it, if it is one of the tenant's. E2B's clients remove snapshots as templates. */
    boolean delete(String tenant, String id) {
        Checkpoints checkpoints = sessions.checkpoints();
        return checkpoints
                .find(tenant, plain(tenant, id))
                .map(kept -> checkpoints.delete(tenant, kept.id()))
                .orElse(false);
    }

    /** Without the namespace, which is the tenant, and without a tag. */
    static String plain(String tenant, String name) {
        String own = name.startsWith(tenant + "/") ? name.substring(tenant.length() + 1) : name;
        return own.endsWith(TAG) ? own.substring(0, own.length() - TAG.length()) : own;
    }

    private static Map<String, Object> json(KeptCheckpoint kept) {
        Optional<String> full = kept.name().map(name -> kept.session().tenant() + "/" + name + TAG);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("snapshotID", full.orElse(kept.id() + TAG));
        json.put("names", full.map(List::of).orElse(List.of()));
        return json;
    }
}
