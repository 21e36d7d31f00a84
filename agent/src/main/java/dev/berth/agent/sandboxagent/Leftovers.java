package dev.berth.agent.sandboxagent;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;

/**
 * An agent whose server is gone. It is not in the server's process group, and leaves by itself when nobody listens to it
 * any more; but one that hangs would stay, with the conversation. It is known by the server's lock, which it was given too.
 *
 * @param lock path of the lock
 */
record Leftovers(Sandbox sandbox, String lock) {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String END = """
            flock --wait 3 "$0" true && exit
            for process in /proc/[0-9]*; do
              for file in "$process"/fd/*; do
                if [ "$file" -ef "$0" ]; then kill -KILL "${process#/proc/}"; fi
              done
            done
            flock --wait 3 "$0" true
            """;

    /** Waits until it has left, or ends it. */
    void end() {
        Result ended = sandbox.run(Command.of("sh", "-c", END, lock).withTimeout(PATIENCE));
        if (ended.code() != 0) {
            throw SandboxException.unavailable(
                    "an agent whose server is gone could not be ended; stop the session's sandbox and try again");
        }
    }
}
