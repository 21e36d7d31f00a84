package dev.berth.tool;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends what a call that ran out of time, or was stopped, has started outside of its process group.
 *
 * <p>The guest kills the group, but leaving a group is common: timeout(1) does so first thing, as do daemons and
 * {@code setsid}. Each call has a mark in its environment, which its descendants inherit wherever they go, and which
 * proc(5) shows to processes of the same user. So nothing is left but what cleared its environment or changed its user.
 *
 * <p>The search is one process that starts no others, as the sandbox may be at its pids limit. It looks again until it
 * finds nothing, since what is found may be forking, and what was killed dies a moment later.
 */
final class Leftovers {
    private static final Logger LOG = LoggerFactory.getLogger(Leftovers.class);
    /** For what was killed to be gone; a busy machine takes its time. */
    private static final Duration PATIENCE = Duration.ofSeconds(8);

    private static final String SEARCH = """
            while ((SECONDS < $2)); do
              found=
              for process in /proc/[0-9]*; do
                while IFS= read -r -d '' variable; do
                  if [[ $variable == "$1" ]]; then
                    kill -KILL "${process#/proc/}" && found=1
                    break
                  fi
                done <"$process/environ"
              done 2>/dev/null
              [[ $found ]] || exit 0
            done""";

    private Leftovers() {}

    static void kill(Sandbox sandbox, String mark) {
        try {
            String mine = CallTerms.MARK + "=" + mark;
            sandbox.run(Command.of("bash", "-c", SEARCH, "bash", mine, Long.toString(PATIENCE.toSeconds()))
                    .withCwd("/")
                    .withTimeout(PATIENCE.plusSeconds(2)));
        } catch (SandboxException e) {
            // The group is dead in any case, and the call's result should not be lost for this.
            LOG.warn("sandbox {}: could not look for what a call left running", sandbox.id(), e);
        }
    }
}
