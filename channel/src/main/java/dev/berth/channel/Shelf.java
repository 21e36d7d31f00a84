package dev.berth.channel;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.artifact.Artifact;
import dev.berth.session.artifact.Artifacts;
import java.io.InputStream;

/** The files that one session has for people. */
record Shelf(Artifacts artifacts, SessionKey key) implements Files {
    @Override
    public InputStream open(Board.Shown file) {
        Artifact artifact = artifacts
                .find(file.artifact())
                .filter(found -> found.session().equals(key))
                .orElseThrow(() -> SandboxException.notFound(
                        "the file " + file.name() + " is not kept any more; ask the agent for it again"));
        return artifacts.content(artifact, 0);
    }
}
