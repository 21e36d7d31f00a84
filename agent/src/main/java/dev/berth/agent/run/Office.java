package dev.berth.agent.run;

import dev.berth.agent.AgentRuntime;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.store.Database;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledExecutorService;

/**
 * What everybody who works on runs in this server needs.
 *
 * @param server by which it owns runs
 * @param clock does things a moment later, on threads of their own
 * @param closed when this server lets go of everything
 */
record Office(
        RunsConfig config,
        Sessions sessions,
        Database database,
        Artifacts artifacts,
        Map<String, AgentRuntime> runtimes,
        Choices choices,
        Permissions permissions,
        RunMeters meters,
        String server,
        ScheduledExecutorService clock,
        CountDownLatch closed) {

    AgentRuntime runtime(String name) {
        return Optional.ofNullable(runtimes.get(name))
                .orElseThrow(() -> SandboxException.invalid(
                        "there is no agent '" + name + "'; there are " + new TreeSet<>(runtimes.keySet())));
    }

    boolean closing() {
        return closed.getCount() == 0;
    }

    /** What those wait for who have to do with the runs of a session. */
    static String topic(SessionKey key) {
        return "runs/" + key;
    }
}
