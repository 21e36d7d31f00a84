package dev.berth.client;

import java.util.Optional;

/**
 * What an agent does about a message.
 *
 * @param state starting, running, done, failed or aborted
 * @param answer what it said after its last tool, as far as it has
 * @param error why it failed
 */
public record AgentRun(
        String id, String session, String state, String prompt, String answer, Optional<String> error, Json json) {
    static AgentRun of(Json json) {
        return new AgentRun(
                json.get("run_id").text(),
                json.get("session_id").text(),
                json.get("state").text(),
                json.get("prompt").text(),
                json.get("answer").text(),
                json.get("error").optionalText(),
                json);
    }

    /** Whether nothing more comes of it. */
    public boolean ended() {
        return !state.equals("starting") && !state.equals("running");
    }
}
