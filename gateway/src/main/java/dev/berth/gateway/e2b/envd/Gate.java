package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Sandboxes;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.session.SessionInfo;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Predicate;

/** Who may use the commands and files of a sandbox: who has its token, and for one file who has a signed address. */
final class Gate {
    private static final String HEADER = "X-Access-Token";

    private final Tokens tokens;
    private final Predicate<SessionInfo> secure;
    private final InstantSource clock;

    /** @param secure whether a sandbox has a token at all; older clients made some without */
    Gate(Tokens tokens, Predicate<SessionInfo> secure, InstantSource clock) {
        this.tokens = tokens;
        this.secure = secure;
        this.clock = clock;
    }

    static Optional<String> token(Call call) {
        return call.header(HEADER).filter(token -> !token.isEmpty());
    }

    /** Whether the address alone may be enough, so that {@link #checkFile} has to be asked. */
    private static boolean open(Call call) {
        return switch (call.method() + call.uriPath()) {
            case "GET/health", "GET/files", "POST/files" -> true;
            default -> false;
        };
    }

    /**
     * Before anything is done with a sandbox, or to it: one that sleeps is woken by its token alone.
     *
     * @throws E2bError 401, or 403 if it would have to be woken
     */
    void check(SessionInfo info, Call call) {
        if (!secure.test(info)
                || token(call).filter(token -> matches(info, token)).isPresent()) {
            return;
        }
        if (!Sandboxes.running(info)) {
            throw new E2bError(403, "the sandbox is paused; resuming it needs its access token")
                    .with("sandboxId", info.key().id());
        }
        if (!open(call)) {
            throw new E2bError(
                    401, "unauthorized access, please provide a valid access token or method signing if supported");
        }
    }

    private boolean matches(SessionInfo info, String token) {
        return Tokens.same(tokens.envd(info.key()), token);
    }

    /** @throws E2bError 401 if neither the token nor a signature allows it */
    void checkFile(SessionInfo info, Call call, Signature.Operation operation) {
        if (!secure.test(info)) {
            return;
        }
        Optional<String> token = token(call);
        if (token.isPresent()) {
            if (!matches(info, token.get())) {
                throw new E2bError(401, "access token present in header but does not match");
            }
            return;
        }
        Signature signature =
                Signature.of(call, operation).orElseThrow(() -> new E2bError(401, "missing signature query parameter"));
        if (!signature.madeWith(tokens.envd(info.key()))) {
            throw new E2bError(401, "invalid signature");
        }
        checkExpiry(signature);
    }

    void checkExpiry(Signature signature) {
        if (signature.expired(clock.instant())) {
            throw new E2bError(401, "signature is already expired");
        }
    }
}
