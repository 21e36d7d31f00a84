package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth rm}. */
@Command(
        name = "rm",
        description = "Destroy sandboxes: their processes end and their files are removed.",
        mixinStandardHelpOptions = true,
        footer = {"", "Examples:", "  berth rm run-3f9c1a20", "  berth rm $(berth ls -q)"})
final class RmCommand implements Callable<Integer> {
    @Mixin
    LocalOptions local = new LocalOptions();

    @Parameters(paramLabel = "ID", arity = "1..*", description = "The sandboxes to destroy.")
    List<String> ids = List.of();

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    CommandSpec spec;

    @Override
    public Integer call() {
        try (SandboxProvider provider = Wiring.provider(local.config())) {
            return destroyAll(provider);
        }
    }

    /** Goes on after a failure, so that one bad id does not save the others; the first failure is the exit code. */
    int destroyAll(SandboxProvider provider) {
        int code = 0;
        for (String id : ids) {
            try {
                provider.find(new SandboxId(id))
                        .orElseThrow(() -> SandboxException.notFound(
                                "there is no sandbox '" + id + "'; 'berth ls' lists those there are"))
                        .destroy();
                spec.commandLine().getOut().println(id);
            } catch (SandboxException e) {
                spec.commandLine().getErr().println("berth: " + e.getMessage());
                code = code == 0 ? ExitCodes.of(e.code()) : code;
            }
        }
        return code;
    }
}
