package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Exit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A process in the guest's list, with what only the link needs to know of it. */
record Listed(CommandInfo info, long stdinTaken, long stdinReceived) {
    static List<Listed> all(Wire.In frame) throws ProtocolException {
        int count = frame.u32();
        List<Listed> found = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int id = frame.u32();
            int pid = frame.u32();
            int flags = frame.u8();
            Exit exit = GuestCommand.exit(frame.u8(), frame.u8(), (flags & 8) != 0);
            long stdoutOldest = frame.u64();
            long stdoutEnd = frame.u64();
            long stderrOldest = frame.u64();
            long stderrEnd = frame.u64();
            long stdinTaken = frame.u64();
            long stdinReceived = frame.u64();
            String tag = frame.string();
            String line = frame.string();
            Optional<Exit> ended = (flags & 4) != 0 ? Optional.of(exit) : Optional.empty();
            found.add(new Listed(
                    new CommandInfo(
                            id,
                            pid,
                            tag,
                            line,
                            (flags & 1) != 0,
                            (flags & 2) != 0,
                            ended,
                            stdoutOldest,
                            stdoutEnd,
                            stderrOldest,
                            stderrEnd),
                    stdinTaken,
                    stdinReceived));
        }
        return found;
    }
}
