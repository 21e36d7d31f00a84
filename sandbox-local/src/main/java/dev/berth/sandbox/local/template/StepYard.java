package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Where the steps run that somebody asked for by the API: within bounds, and on a network that reaches nothing of this
 * machine. It has room for one step at a time, as builds of a templates directory take turns.
 */
public interface StepYard {
    /** Makes it ready for a step; the command that is to put itself in front of what is done there. */
    List<String> open() throws IOException;

    /** Why a step has no network there; empty if it can have one. */
    Optional<String> lacking();

    /** Gives the container that runs there a network, as soon as it has begun. */
    void connect() throws IOException;

    /** What names the step's resolvers. */
    String resolvConf();

    /** Ends whatever runs there yet. */
    void close() throws IOException;
}
