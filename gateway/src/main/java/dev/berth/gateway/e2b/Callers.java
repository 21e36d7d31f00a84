package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.http.Admission;

/** Who calls E2B's API: those with a key of Berth, in the header that E2B's clients send it in. */
public final class Callers {
    private final Admission admission;

    public Callers(Admission admission) {
        this.admission = admission;
    }

    /** The key counts even where there is a token besides: E2B's clients send one that is of their own service. */
    public Caller admit(Call call, Scope scope) {
        boolean keyed = call.header(Admission.API_KEY).isPresent();
        return admission.admit(
                scope,
                name -> keyed && name.equals(Admission.AUTHORIZATION)
                        ? null
                        : call.header(name).orElse(null));
    }

    /** For what the native contract needs one scope to do and another one to be told of. */
    Caller admit(Call call, Scope scope, Scope other) {
        Caller caller = admit(call, scope);
        caller.require(other);
        return caller;
    }
}
