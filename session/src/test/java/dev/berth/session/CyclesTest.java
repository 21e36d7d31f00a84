package dev.berth.session;

import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A long life: down and up again, a hundred times. Needs root and crun. */
class CyclesTest {
    private static final int CYCLES = 100;

    @Test
    void aHundredPausesLoseNoFileAndNoCount() {
        try (TestingSessions server = new TestingSessions()) {
            // Appends as it counts; a count that is skipped or repeated would be seen in the file.
            server.run(
                    "counting",
                    "(i=0; while :; do i=$((i+1)); echo $i >> ~/counts; done) > /dev/null 2>&1 & echo $! > ~/pid");
            for (int cycle = 1; cycle <= CYCLES; cycle++) {
                try (Session session = server.resolve("counting")) {
                    run(
                            session,
                            "head -c 20000 /dev/urandom > ~/file-" + cycle + "; (cd ~; sha256sum file-" + cycle
                                    + " >> sums)");
                }
                server.sessions().pause(key("counting"));
                assertThat(server.state("counting")).isEqualTo(SessionState.PAUSED);
            }
            try (Session session = server.resolve("counting")) {
                assertThat(run(session, "cd ~; sha256sum -c --quiet sums && wc -l < sums"))
                        .isEqualTo(Integer.toString(CYCLES));
                assertThat(run(session, "kill $(cat ~/pid); cd ~; awk '$1 != NR' counts | grep -c . || true"))
                        .as("counts out of order")
                        .isEqualTo("0");
                assertThat(Integer.parseInt(run(session, "wc -l < ~/counts"))).isGreaterThan(CYCLES);
                assertThat(session.loss()).isEmpty();
            }
        }
    }

    @Test
    void aHundredStopsLoseNoFile() {
        try (TestingSessions server = new TestingSessions()) {
            for (int cycle = 1; cycle <= CYCLES; cycle++) {
                try (Session session = server.resolve("growing")) {
                    run(
                            session,
                            "cd ~; head -c 20000 /dev/urandom > file-" + cycle + "; sha256sum file-" + cycle
                                    + " >> sums; sha256sum -c --quiet sums");
                }
                server.sessions().stop(key("growing"));
                assertThat(server.state("growing")).isEqualTo(SessionState.STOPPED);
            }
            assertThat(server.run("growing", "cd ~; sha256sum -c --quiet sums && wc -l < sums"))
                    .isEqualTo(Integer.toString(CYCLES));
            assertThat(server.info("growing").loss()).isEmpty();
        }
    }
}
