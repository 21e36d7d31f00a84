package dev.berth.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row.Verdict;
import org.junit.jupiter.api.Test;

class IdleMemoryTest {
    @Test
    void theLargerOfTwoNumbersThatAgreeIsJudged() {
        assertThat(IdleMemory.cost(200, 2.5, 2.9).measured()).isEqualTo(Quantity.megabytes(2.9));
        assertThat(IdleMemory.cost(200, 2.5, 2.9).verdict()).isEqualTo(Verdict.MET);
        assertThat(IdleMemory.cost(200, 3.1, 2.9).verdict()).isEqualTo(Verdict.NOT_MET);
    }

    @Test
    void nothingIsConcludedWhereTheMachineDidSomethingElseMeanwhile() {
        assertThat(IdleMemory.cost(200, -2.81, 1.7).verdict()).isEqualTo(Verdict.NONE);
        assertThat(IdleMemory.cost(200, -2.81, -2.9).verdict()).isEqualTo(Verdict.NONE);
        assertThat(IdleMemory.cost(200, 1.0, 2.0).what()).contains("undecided", "took 1.00 MB", "gave back 2.00 MB");
    }
}
