package dev.berth.gateway.http;

import dev.berth.gateway.auth.Authenticator;
import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.auth.Unauthenticated;
import dev.berth.gateway.http.Contract.Operation;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Who asks, how often, and whether they may: the same for every request, whoever answers it. */
public final class Admission {
    public static final String AUTHORIZATION = "Authorization";
    public static final String API_KEY = "X-API-Key";

    private final Authenticator authenticator;
    private final RateLimits rates;

    public Admission(Authenticator authenticator, RateLimits rates) {
        this.authenticator = authenticator;
        this.rates = rates;
    }

    /** @param header the request's headers by name */
    public Caller admit(Operation operation, Function<String, @Nullable String> header) {
        Caller caller = admit(header);
        if (operation.admin()) {
            caller.requireAdmin();
        }
        operation.scope().ifPresent(caller::require);
        return caller;
    }

    /** As {@link #admit(Operation, Function)}, for what is asked by another contract than ours. */
    public Caller admit(Scope scope, Function<String, @Nullable String> header) {
        Caller caller = admit(header);
        caller.require(scope);
        return caller;
    }

    private Caller admit(Function<String, @Nullable String> header) {
        Caller caller = credential(header).flatMap(authenticator::caller).orElseThrow(Unauthenticated::new);
        rates.take(caller);
        return caller;
    }

    private static Optional<String> credential(Function<String, @Nullable String> header) {
        String authorization = header.apply(AUTHORIZATION);
        if (authorization != null) {
            return authorization.regionMatches(true, 0, "Bearer ", 0, 7)
                    ? Optional.of(authorization.substring(7).strip())
                    : Optional.empty();
        }
        return Optional.ofNullable(header.apply(API_KEY)).map(String::strip);
    }
}
