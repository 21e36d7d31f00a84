package dev.berth.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/** {@code berth doctor}. */
@Command(name = "doctor", description = "Tell what this machine has and lacks, and how to fix it.")
final class DoctorCommand implements Callable<Integer> {
    @Override
    public Integer call() {
        return 0;
    }
}
