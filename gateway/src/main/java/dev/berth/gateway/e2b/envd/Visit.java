package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.PermissionMode;
import dev.berth.session.Session;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import java.util.OptionalInt;

/** One call to a sandbox that was entered: the token was looked at, and the sandbox runs. */
record Visit(Session session, Call call) {
    private static final String BASIC = "Basic ";
    private static final String ACTOR = "e2b";

    Sandbox sandbox() {
        return session.sandbox();
    }

    /**
     * To be called before anything is written.
     *
     * @throws SandboxException with {@code denied} if a person would have to allow it
     */
    void beforeWrite() {
        if (mode().asksToWrite()) {
            throw asks("is written");
        }
        session.beforeWrite();
    }

    /** As {@link #beforeWrite}, before anything runs, which may write as well. */
    void beforeRun() {
        if (mode().asksToRun()) {
            throw asks("runs");
        }
        session.beforeWrite();
    }

    private PermissionMode mode() {
        return session.info().permissionMode();
    }

    /** There is no way to have E2B's clients wait for an answer. */
    private SandboxException asks(String what) {
        return SandboxException.denied("a person has to allow it before anything " + what + " in this sandbox"
                + " (permission_mode '" + mode() + "'), for which E2B's clients cannot wait; set the mode of session "
                + session.key().id()
                + " to 'bypass' with a key that has the scope 'approvals', or use Berth's own API");
    }

    /** Writes down what was done. Who has the token of a sandbox has no name. */
    void record(String what, Optional<String> text, OptionalInt exit, Duration took) {
        session.record(new Session.Run(ACTOR, what, text, exit, took));
    }

    /** As whom something is to be done: the user of the call, or the sandbox's own. */
    Account account() {
        return account(named(call.header("Authorization")));
    }

    /** @param user empty for the sandbox's own */
    Account account(Optional<String> user) {
        String name = user.orElseGet(() -> sandbox().defaultUser());
        return find(name)
                .orElseThrow(() -> new ConnectError(
                        ConnectCode.UNAUTHENTICATED,
                        "invalid " + (user.isPresent() ? "username" : "default user") + ": '" + name + "'"));
    }

    /** A user by name; what could be a number is none, as E2B takes names only. */
    Optional<Account> find(String name) {
        try {
            return Optional.of(sandbox().account(name))
                    .filter(account -> account.name().equals(name));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.INVALID || e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** @throws ConnectError if the call is in the name of somebody whom the sandbox does not know */
    void checkUser() {
        named(call.header("Authorization")).ifPresent(name -> account(Optional.of(name)));
    }

    /** The user of an {@code Authorization} header; it is no password that makes him one, but the sandbox's token. */
    static Optional<String> named(Optional<String> header) {
        return header.filter(value -> value.regionMatches(true, 0, BASIC, 0, BASIC.length()))
                .flatMap(value -> {
                    try {
                        byte[] pair = Base64.getDecoder()
                                .decode(value.substring(BASIC.length()).strip());
                        String text = new String(pair, StandardCharsets.UTF_8);
                        int colon = text.indexOf(':');
                        return colon < 0 ? Optional.empty() : Optional.of(text.substring(0, colon));
                    } catch (IllegalArgumentException e) {
                        return Optional.empty();
                    }
                });
    }
}
