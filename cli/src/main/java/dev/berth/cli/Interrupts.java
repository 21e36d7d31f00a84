package dev.berth.cli;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Signal;
import java.util.Optional;
import java.util.function.IntConsumer;

/**
 * What Ctrl-C, and a polite kill, do to the command in the foreground: the first is passed on to it, the second kills
 * it, the third gives up waiting. Before there is a command the first is remembered, and the second gives up.
 */
final class Interrupts {
    private final IntConsumer giveUp;
    // Both guarded by this.
    private int count;
    private int first;
    private Optional<RunningCommand> target = Optional.empty();

    /** @param giveUp ends the process at once with an exit code; what is left behind is swept by the next start */
    Interrupts(IntConsumer giveUp) {
        this.giveUp = giveUp;
    }

    static Interrupts install() {
        Interrupts interrupts = new Interrupts(Runtime.getRuntime()::halt);
        Signals.on("INT", interrupts::received);
        Signals.on("TERM", interrupts::received);
        Signals.on("HUP", interrupts::received);
        return interrupts;
    }

    /** From now on signals are for this command; one that came before is passed on at once. */
    void aimAt(RunningCommand command) {
        int missed;
        synchronized (this) {
            target = Optional.of(command);
            missed = count > 0 ? first : 0;
        }
        if (missed > 0) {
            command.signal(passedOn(missed));
        }
    }

    /** The command has ended. */
    synchronized void aimAtNothing() {
        target = Optional.empty();
    }

    /** The exit code to end with, if a signal came. */
    synchronized Optional<Integer> exitCode() {
        return count == 0 ? Optional.empty() : Optional.of(ExitCodes.signal(first));
    }

    void received(int signal) {
        Optional<RunningCommand> command;
        int times;
        synchronized (this) {
            times = ++count;
            first = times == 1 ? signal : first;
            command = target;
        }
        int patience = command.isPresent() ? 2 : 1;
        if (times > patience) {
            giveUp.accept(ExitCodes.signal(signal));
        } else {
            command.ifPresent(it -> it.signal(times == 1 ? passedOn(signal) : Signal.KILL));
        }
    }

    private static Signal passedOn(int number) {
        return switch (number) {
            case 1 -> Signal.HUP;
            case 2 -> Signal.INT;
            default -> Signal.TERM;
        };
    }
}
