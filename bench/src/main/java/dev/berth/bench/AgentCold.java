package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.session.SessionKey;
import java.util.List;
import java.util.Map;

/** The first message of a conversation: the session, its sandbox and its agent are made for it. */
final class AgentCold implements Measurement {
    private static final String WHAT = "message to an agent, new session";
    private static final String OWN_START = "agent's own start";

    @Override
    public String name() {
        return "agent-cold";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (AgentSite site = AgentSite.open(rig)) {
            SessionKey up = site.newSession();
            site.say(up);
            Turns.Turn first = () -> {
                SessionKey session = site.newSession();
                Map<String, Long> taken = site.say(session);
                site.delete(session);
                return taken;
            };
            Timings timings = new Turns(List.of(first, () -> Map.of(OWN_START, site.startAlone(up))))
                    .run(rig.scale().slow(), rig.progress());
            return rows(WHAT, timings, OWN_START);
        }
    }

    /** Both moments beside one thing. */
    static List<Row> rows(String what, Timings timings, String rival) {
        return List.of(
                row(what, timings, AgentSite.STATUS, rival, rival), row(what, timings, AgentSite.TEXT, rival, rival));
    }

    /** One moment beside another. */
    static Row row(String what, Timings timings, String moment, String rival, String rivalMoment) {
        return Row.compare(what + ", " + moment, timings.median(moment), rival, timings.median(rivalMoment));
    }
}
