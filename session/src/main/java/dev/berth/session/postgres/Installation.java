package dev.berth.session.postgres;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * PostgreSQL as it is set up here.
 *
 * @param programs what can be run
 * @param account as whom
 * @param log where the output goes
 * @param diagnosis explains what goes wrong
 */
record Installation(Programs programs, Account account, ServerLog log, Diagnosis diagnosis) {
    /**
     * Sends PostgreSQL the signals that Java cannot. INT stops it fast and cleanly, QUIT at once with a recovery at the
     * next start; what {@link Process#destroy} sends would wait for every client to leave.
     *
     * <p>It is PostgreSQL's own program that sends them, as its user, so a number that meanwhile belongs to somebody
     * else's process does no harm.
     */
    void signal(String signal, long pid) throws IOException, InterruptedException {
        List<String> argv = List.of(programs.pgCtl().toString(), "kill", signal, Long.toString(pid));
        Process process = account.process(argv, null, log).start();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }
}
