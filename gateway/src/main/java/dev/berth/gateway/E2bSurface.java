package dev.berth.gateway;

import dev.berth.gateway.e2b.Callers;
import dev.berth.gateway.e2b.E2b;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.e2b.Egress;
import dev.berth.gateway.e2b.Facts;
import dev.berth.gateway.e2b.Place;
import dev.berth.gateway.e2b.Sandboxes;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.gateway.e2b.VolumeBook;
import dev.berth.gateway.e2b.envd.Envd;
import dev.berth.gateway.e2b.port.Names;
import dev.berth.gateway.e2b.port.Ports;
import dev.berth.gateway.e2b.template.E2bTemplates;
import dev.berth.gateway.http.Admission;
import dev.berth.gateway.secret.Secrets;
import dev.berth.sandbox.Templates;
import dev.berth.session.Sessions;
import dev.berth.session.process.Processes;
import dev.berth.session.store.Database;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import org.eclipse.jetty.server.Handler;

/** What serves E2B's clients: their API, and the ports of sandboxes under names of their own. */
final class E2bSurface implements AutoCloseable {
    private final Names names;
    private final Ports ports;
    private final E2bTemplates templates;
    private final VolumeBook volumes;
    private final Processes processes;
    private final Envd envd;
    private final Handler.Wrapper door;

    private E2bSurface(
            Names names,
            Ports ports,
            E2bTemplates templates,
            VolumeBook volumes,
            Processes processes,
            Envd envd,
            Handler.Wrapper door) {
        this.names = names;
        this.ports = ports;
        this.templates = templates;
        this.volumes = volumes;
        this.processes = processes;
        this.envd = envd;
        this.door = door;
    }

    /** @param next answers what is not E2B's */
    static E2bSurface open(
            E2bConfig wanted,
            GatewayConfig gateway,
            Sessions sessions,
            Admission admission,
            Templates provider,
            Database database,
            Egress egress,
            Secrets secrets,
            VolumeBook volumes,
            Handler next,
            MeterRegistry meters) {
        Names names = Names.open(wanted, gateway.server(), gateway.data());
        E2bConfig config = wanted.withDomain(names.domain());
        Sandboxes sandboxes = new Sandboxes(sessions);
        Tokens tokens = new Tokens(config.secret());
        Ports ports = new Ports(sandboxes, tokens);
        E2bTemplates templates = new E2bTemplates(
                provider,
                database,
                gateway.data().resolve("template-uploads"),
                sessions.spec().limits(),
                gateway.features().jobs().address(),
                tokens,
                new Callers(admission));
        Processes processes = Processes.open(sessions);
        Envd envd = new Envd(
                sessions, sandboxes, tokens, processes, info -> Facts.of(info).secure(), InstantSource.system());
        Handler.Wrapper door = E2b.door(
                config,
                sessions,
                sandboxes,
                tokens,
                admission,
                templates.names(),
                egress,
                secrets,
                volumes,
                (routes, snapshots) -> {
                    templates.routes(routes, snapshots);
                    envd.routes(routes);
                },
                (place, call) -> (place.port() == Place.ENVD ? envd : ports).serve(place, call),
                next,
                meters);
        return new E2bSurface(names, ports, templates, volumes, processes, envd, door);
    }

    Handler.Wrapper handler() {
        return door;
    }

    Names names() {
        return names;
    }

    /** Removes what is no longer needed. */
    void sweep() {
        templates.sweep();
        volumes.sweep();
    }

    /** Breaks off what goes on, so that a server that stops need not wait for it. */
    @Override
    public void close() {
        ports.close();
        envd.close();
        processes.close();
        templates.close();
    }
}
