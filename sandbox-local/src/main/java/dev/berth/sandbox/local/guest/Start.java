package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.TerminalSize;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A command with everything resolved that the guest cannot: ids instead of names, the whole environment. */
public record Start(
        List<String> argv,
        List<String> env,
        String cwd,
        int uid,
        int gid,
        List<Integer> groups,
        Optional<TerminalSize> terminal,
        boolean stdinOpen,
        boolean block,
        boolean noNewPrivileges,
        int ring,
        Duration timeout,
        String tag) {

    Wire.Out frame(int id) {
        int flags = (terminal.isPresent() ? Wire.FLAG_PTY : 0)
                | (stdinOpen ? Wire.FLAG_STDIN : 0)
                | (block ? Wire.FLAG_BLOCK : 0)
                | (noNewPrivileges ? Wire.FLAG_NO_NEW_PRIVS : 0);
        Wire.Out out = new Wire.Out(Wire.START, id, 1024)
                .u8(flags)
                .u32(ring)
                .u32(Inflow.WINDOW)
                .u64(timeout.toMillis())
                .u32(uid)
                .u32(gid)
                .u16(groups.size());
        groups.forEach(out::u32);
        return out.u16(terminal.map(TerminalSize::rows).orElse(0))
                .u16(terminal.map(TerminalSize::cols).orElse(0))
                .string(tag)
                .string(cwd)
                .list(argv)
                .list(env);
    }
}
