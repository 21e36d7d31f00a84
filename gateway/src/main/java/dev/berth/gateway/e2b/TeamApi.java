package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The little that E2B's command line asks about whoever uses it: a team is a tenant. */
final class TeamApi {
    private final Callers callers;

    TeamApi(Callers callers) {
        this.callers = callers;
    }

    void routes(Routes routes) {
        routes.on("GET", "/teams", this::list).on("GET", "/health", call -> call.answer(204));
    }

    private void list(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        Map<String, Object> team = new LinkedHashMap<>();
        team.put("teamID", caller.tenant());
        team.put("name", caller.tenant());
        team.put("apiKey", ""); // who asks has one, and nobody is told another
        team.put("isDefault", true);
        call.answer(200, List.of(team));
    }
}
