package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.session.SessionKey;
import java.util.List;
import java.util.Map;

/** One more message in a conversation whose agent waits for it. */
final class AgentWarm implements Measurement {
    private static final String WHAT = "message to an agent, session up";
    private static final String CURL = "curl to the model";

    @Override
    public String name() {
        return "agent-warm";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (AgentSite site = AgentSite.open(rig)) {
            SessionKey session = site.newSession();
            site.say(session);
            Timings timings = new Turns(List.of(() -> site.say(session), () -> Map.of(CURL, site.askModel(session))))
                    .run(rig.scale().slow(), rig.progress());
            return AgentCold.rows(WHAT, timings, CURL);
        }
    }
}
