package dev.berth.sandbox.local;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import java.nio.file.Path;

/** A server to be killed: makes a sandbox with a command that goes on, says so, and then makes and destroys more for ever. */
final class CreatingServer {
    private CreatingServer() {}

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) {
        LocalProvider provider =
                LocalProvider.open(LocalConfig.of(Path.of(args[0])).withTemplates(Path.of(args[1])));
        Sandbox survivor = provider.create(SandboxSpec.of("survivor", "host"));
        var counting = survivor.start(Command.shell("i=0; while true; do echo line $((i++)); sleep 0.02; done")
                .withTag("counting"));
        System.out.println("ready " + counting.pid());
        for (int i = 0; true; i++) {
            Sandbox brief = provider.create(SandboxSpec.of("brief-" + i, "host"));
            Checkpoint taken = brief.checkpoint("point");
            if (!brief.changesSince(taken.id()).isEmpty()
                    || !provider.changes(taken.id(), taken.id()).isEmpty()) {
                throw new IllegalStateException("the checkpoint is not what was there");
            }
            brief.destroy();
            provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        }
    }
}
