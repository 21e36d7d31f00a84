package dev.berth.bench;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.session.SessionKey;
import java.util.ArrayList;
import java.util.List;

/** What a conversation holds in memory whose agent has answered and waits. The server's share is not in it. */
final class AgentMemory implements Measurement {
    private static final String WHAT = "memory of a session with an idle agent";

    @Override
    public String name() {
        return "agent-memory";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        int count = Math.max(1, rig.scale().slow() / 3);
        List<Long> bytes = new ArrayList<>();
        try (AgentSite site = AgentSite.open(rig)) {
            // The first one of a machine pays for the files of the template that all others share.
            for (int i = -1; i < count; i++) {
                rig.progress().step(i + 2, count + 1);
                SessionKey session = site.newSession();
                site.say(session);
                if (i >= 0) {
                    bytes.add(site.memoryBytes(session));
                }
                site.delete(session);
            }
        }
        double median = bytes.stream().sorted().toList().get(count / 2);
        return List.of(Row.of(WHAT + " (of " + count + ")", Quantity.megabytes(median / 1024 / 1024)));
    }
}
