package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.bench.rival.Timed;
import dev.berth.session.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Commands per second over HTTP with all cores: a session and a connection for each. */
final class HttpThroughput implements Measurement {
    private static final String WHAT = "commands per second over HTTP, all cores";

    @Override
    public String name() {
        return "http-throughput";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        int cores = Runtime.getRuntime().availableProcessors();
        try (SessionSite site = rig.openSessions();
                HttpSite http = HttpSite.open(site);
                ExecutorService platform = Executors.newFixedThreadPool(cores)) {
            List<Timed> callers = new ArrayList<>();
            for (int i = 0; i < cores; i++) {
                SessionKey key = SessionKey.of(SessionKey.DEFAULT_TENANT, "bench-" + i);
                site.resolve(key).close();
                callers.add(http.runTrue(key));
            }
            for (int i = 0; i < rig.scale().serverWarmUp(); i++) {
                callers.get(i % cores).run();
            }
            return List.of(Throughput.compare(rig, WHAT, platform, callers));
        }
    }
}
