package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import java.util.List;

/** {@code berth rm}. */
final class RmCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "rm",
                "Destroy sandboxes: their processes end and their files are removed.",
                List.of("[OPTION…] ID…"),
                new Operands(1, Integer.MAX_VALUE, false),
                List.of(LocalOptions.DATA),
                List.of("Examples:", "  berth rm run-3f9c1a20", "  berth rm $(berth ls -q)"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        try (SandboxProvider provider = Wiring.provider(LocalOptions.config(arguments, console.env()))) {
            return destroy(arguments.operands(), provider, console);
        }
    }

    /** Goes on after a failure, so that one bad id does not save the others; the first failure is the exit code. */
    static int destroy(List<String> ids, SandboxProvider provider, Console console) {
        int code = 0;
        for (String id : ids) {
            try {
                provider.find(new SandboxId(id))
                        .orElseThrow(() -> SandboxException.notFound(
                                "there is no sandbox '" + id + "'; 'berth ls' lists those there are"))
                        .destroy();
                console.out().println(id);
            } catch (SandboxException e) {
                console.say(String.valueOf(e.getMessage()));
                code = code == 0 ? ExitCodes.of(e.code()) : code;
            }
        }
        return code;
    }
}
