package dev.berth.session;

import dev.berth.sandbox.SandboxException;

/** What became of one of the sessions that another one was to be forked into. */
public sealed interface Forked {
    SessionKey key();

    /** @param session up, and to be closed by whoever asked for it */
    record Made(SessionKey key, Session session) implements Forked {}

    record Failed(SessionKey key, SandboxException why) implements Forked {}
}
