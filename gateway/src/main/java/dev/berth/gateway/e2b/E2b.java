package dev.berth.gateway.e2b;

import dev.berth.gateway.http.Admission;
import dev.berth.gateway.secret.Secrets;
import dev.berth.session.Sessions;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import org.eclipse.jetty.server.Handler;

/** E2B's API of sandboxes, snapshots, secrets and volumes, and the door to it. */
public final class E2b {
    private E2b() {}

    /**
     * The door.
     *
     * @param others add their own routes; they are told how a snapshot of a tenant is removed, which clients do as with
     *     templates
     * @param ports answers what is for a port of a sandbox
     * @param next answers what is not E2B's
     */
    public static Handler.Wrapper door(
            E2bConfig config,
            Sessions sessions,
            Sandboxes sandboxes,
            Tokens tokens,
            Admission admission,
            TemplateNames templates,
            Egress egress,
            Secrets secrets,
            VolumeBook volumes,
            BiConsumer<Routes, BiPredicate<String, String>> others,
            PortService ports,
            Handler next,
            MeterRegistry meters) {
        Callers callers = new Callers(admission);
        SandboxJson json = new SandboxJson(tokens, egress, volumes, config.domain());
        Timeouts timeouts = new Timeouts(config.longestTimeout());
        Routes control = new Routes();
        // First, because 'metrics' could be the id of a sandbox to the routes after it.
        new MetricsApi(sessions, sandboxes, callers).routes(control);
        new SandboxApi(sessions, sandboxes, callers, templates, egress, volumes, json, timeouts).routes(control);
        new ListApi(sessions, callers, templates, json).routes(control);
        new LogApi(sessions, sandboxes, callers).routes(control);
        new TeamApi(callers).routes(control);
        new SecretApi(secrets, callers).routes(control);
        new VolumeApi(volumes, callers, tokens, config.domain()).routes(control);
        SnapshotApi snapshots = new SnapshotApi(sessions, sandboxes, callers);
        snapshots.routes(control);
        others.accept(control.taking(Call.MOST_STEPS), snapshots::delete);
        return new E2bHandler(next, control, ports, meters);
    }
}
