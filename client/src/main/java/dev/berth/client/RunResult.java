package dev.berth.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What came of a call.
 *
 * @param success whether it was done; a command that ended with another code than 0 was not
 * @param exitCode empty for a tool that ran nothing
 * @param truncated whether some of the output is missing here; then {@code outputId} says where all of it is
 * @param result the value of the last expression, for code that was executed
 * @param loss what the computer lost since the last call, for the model to know
 * @param error what the tool could not do
 * @param approvalId if nothing was done yet, since a person has to allow it first; {@link Approvals#get} has what came of it
 */
public record RunResult(
        boolean success,
        Optional<Integer> exitCode,
        String stdout,
        String stderr,
        boolean timedOut,
        Duration duration,
        boolean truncated,
        Optional<String> outputId,
        List<String> limitsHit,
        Optional<String> result,
        Optional<String> loss,
        Optional<String> error,
        Optional<String> approvalId,
        Json json) {
    static RunResult of(Json json) {
        return new RunResult(
                json.get("success").truth() || json.get("ok").truth(),
                json.get("exit_code").optionalInt(),
                json.get("stdout").text(),
                json.get("stderr").text(),
                json.get("timed_out").truth(),
                Duration.ofMillis(json.get("duration_ms").whole()),
                json.get("truncated").truth(),
                json.get("output_id").optionalText(),
                json.get("limits_hit").items().stream().map(Json::text).toList(),
                json.get("result").optionalText(),
                json.get("loss").optionalText(),
                json.get("error").get("message").optionalText(),
                json.get("approval_id").optionalText(),
                json);
    }
}
