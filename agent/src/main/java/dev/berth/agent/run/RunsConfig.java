package dev.berth.agent.run;

import java.time.Duration;

/**
 * How runs are looked after.
 *
 * @param lease for how long a run belongs to a server that says nothing more; then another goes on with it
 * @param workspace where agents work, in the home of the sandbox's user
 */
public record RunsConfig(Duration lease, String workspace) {
    public static final RunsConfig DEFAULT = new RunsConfig(Duration.ofSeconds(15), "workspace");
}
