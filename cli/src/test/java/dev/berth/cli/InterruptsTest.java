package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Signal;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class InterruptsTest {
    private static final int INT = 2;
    private static final int TERM = 15;

    private final List<Integer> givenUp = new ArrayList<>();
    private final Interrupts interrupts = new Interrupts(givenUp::add);
    private final FakeCommand command = new FakeCommand("", "", Exit.exited(0));

    @Test
    void passesTheFirstOnKillsAtTheSecondAndGivesUpAtTheThird() {
        interrupts.aimAt(command);
        interrupts.received(INT);
        assertThat(command.signals).containsExactly(Signal.INT);
        interrupts.received(INT);
        assertThat(command.signals).containsExactly(Signal.INT, Signal.KILL);
        assertThat(givenUp).isEmpty();
        interrupts.received(INT);
        assertThat(givenUp).containsExactly(130);
    }

    @Test
    void remembersOneThatCameBeforeTheCommand() {
        interrupts.received(TERM);
        assertThat(interrupts.exitCode()).contains(143);
        interrupts.aimAt(command);
        assertThat(command.signals).containsExactly(Signal.TERM);
    }

    @Test
    void givesUpAtTheSecondWhileThereIsNoCommand() {
        interrupts.received(INT);
        interrupts.received(INT);
        assertThat(givenUp).containsExactly(130);
    }

    @Test
    void leavesACommandAloneThatHasEnded() {
        interrupts.aimAt(command);
        interrupts.aimAtNothing();
        interrupts.received(INT);
        assertThat(command.signals).isEmpty();
    }

    @Test
    void hasNoExitCodeWhenNothingCame() {
        assertThat(interrupts.exitCode()).isEmpty();
    }
}
