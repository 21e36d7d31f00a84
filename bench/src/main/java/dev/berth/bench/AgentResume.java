package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.session.SessionKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One more message in a conversation that was paused meanwhile, agent and all. */
final class AgentResume implements Measurement {
    private static final String WHAT = "message to an agent, session paused";
    private static final String UP = "session up";

    @Override
    public String name() {
        return "agent-resume";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (AgentSite site = AgentSite.open(rig)) {
            SessionKey session = site.newSession();
            site.say(session);
            Turns.Turn paused = () -> {
                site.pause(session);
                return site.say(session);
            };
            Timings timings = new Turns(List.of(paused, () -> whileUp(site.say(session))))
                    .run(rig.scale().slow(), rig.progress());
            return List.of(row(timings, AgentSite.STATUS), row(timings, AgentSite.TEXT));
        }
    }

    private static Map<String, Long> whileUp(Map<String, Long> taken) {
        Map<String, Long> named = new HashMap<>();
        taken.forEach((moment, nanos) -> named.put(UP + ", " + moment, nanos));
        return named;
    }

    private static Row row(Timings timings, String moment) {
        return AgentCold.row(WHAT, timings, moment, UP, UP + ", " + moment);
    }
}
