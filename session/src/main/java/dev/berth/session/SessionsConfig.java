package dev.berth.session;

import java.nio.file.Path;
import java.time.Duration;

/**
 * How sessions are looked after.
 *
 * @param spool where archives are put together, on a disk with room for them
 * @param flush how often activity is written down
 * @param janitor how often idle sessions are looked for at least
 * @param settle how often rows and sandboxes are compared
 * @param healthProbe how long a sandbox may take to answer that it is well
 * @param healthPoll how often a sandbox that does not answer is asked
 * @param healthLimit for how long
 * @param patience how long anybody waits for a session that another one is busy with
 * @param spec what a session is made by where nobody says otherwise
 * @param auditCommands whether the text of commands is written to the event log
 */
public record SessionsConfig(
        Path spool,
        Duration flush,
        Duration janitor,
        Duration settle,
        Duration healthProbe,
        Duration healthPoll,
        Duration healthLimit,
        Duration patience,
        SessionSpec spec,
        boolean auditCommands) {

    public static SessionsConfig of(Path spool) {
        return new SessionsConfig(
                spool,
                Duration.ofSeconds(5),
                Duration.ofSeconds(60),
                Duration.ofMinutes(10),
                Duration.ofSeconds(10),
                Duration.ofSeconds(2),
                Duration.ofSeconds(60),
                Duration.ofMinutes(2),
                SessionSpec.DEFAULT,
                false);
    }

    public SessionsConfig withIntervals(Duration newFlush, Duration newJanitor, Duration newSettle) {
        return new SessionsConfig(
                spool,
                newFlush,
                newJanitor,
                newSettle,
                healthProbe,
                healthPoll,
                healthLimit,
                patience,
                spec,
                auditCommands);
    }

    public SessionsConfig withHealth(Duration probe, Duration poll, Duration limit) {
        return new SessionsConfig(spool, flush, janitor, settle, probe, poll, limit, patience, spec, auditCommands);
    }

    public SessionsConfig withAuditCommands(boolean audit) {
        return new SessionsConfig(
                spool, flush, janitor, settle, healthProbe, healthPoll, healthLimit, patience, spec, audit);
    }

    public SessionsConfig withSpec(SessionSpec newSpec) {
        return new SessionsConfig(
                spool, flush, janitor, settle, healthProbe, healthPoll, healthLimit, patience, newSpec, auditCommands);
    }
}
