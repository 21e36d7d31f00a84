package dev.berth.gateway.agent;

import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Runs, and what happens in them, as the API has them. */
final class RunJson {
    /** A list of runs must not be as long as everything that was ever asked. */
    private static final int MOST_PROMPT = 10_000;

    private RunJson() {}

    static Map<String, Object> show(Run run) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("run_id", run.id());
        shown.put("tenant_id", run.session().tenant());
        shown.put("session_id", run.session().id());
        shown.put("state", run.state().toString());
        shown.put("runtime", run.runtime());
        shown.put("requested_by", run.actor());
        shown.put("prompt", Plain.text(run.prompt(), MOST_PROMPT));
        shown.put("attempt", run.attempt());
        shown.put("tools_used", run.acted());
        shown.put("answer", run.answer());
        run.error().ifPresent(error -> shown.put("error", error));
        shown.put("first_event", run.firstEvent());
        shown.put("created_at", run.createdAt());
        run.endedAt().ifPresent(at -> shown.put("ended_at", at));
        return shown;
    }

    /** An event for whoever follows a run. */
    record Told(String name, Map<String, Object> data) {}

    /** Empty for what is not told: thoughts are in the session's events, and the end has the whole run with it. */
    static Optional<Told> tell(RunEvent event) {
        return switch (event) {
            case RunEvent.Began e -> told("status", e, Map.of("state", "running", "runtime", e.runtime(), "text", ""));
            case RunEvent.Status e -> told("status", e, Map.of("text", e.text()));
            case RunEvent.Steered e -> told("status", e, Map.of("text", "", "steered_by", e.actor()));
            case RunEvent.Text e -> told("text", e, Map.of("text", e.text()));
            case RunEvent.ToolStarted e ->
                told(
                        "tool_start",
                        e,
                        Map.of("call_id", e.call(), "tool", e.tool(), "title", e.title(), "arguments", e.arguments()));
            case RunEvent.ToolUpdated e -> told("tool_update", e, Map.of("call_id", e.call(), "output", e.output()));
            case RunEvent.ToolEnded e ->
                told("tool_end", e, Map.of("call_id", e.call(), "ok", e.ok(), "output", e.output()));
            case RunEvent.Shown e ->
                told(
                        "artifact",
                        e,
                        Map.of(
                                "artifact_id",
                                e.artifact(),
                                "name",
                                e.name(),
                                "title",
                                e.title(),
                                "mime_type",
                                e.mimeType(),
                                "size",
                                e.size(),
                                "url",
                                "/v1/artifacts/" + e.artifact() + "/content"));
            case RunEvent.Approval e -> {
                Map<String, Object> facts = new LinkedHashMap<>();
                facts.put("approval_id", e.approval());
                facts.put("tool", e.tool());
                facts.put("title", e.title());
                facts.put("state", e.state());
                e.decidedBy().ifPresent(who -> facts.put("decided_by", who));
                yield told("approval", e, facts);
            }
            case RunEvent.Used e -> {
                Map<String, Object> facts = new LinkedHashMap<>();
                facts.put("input_tokens", e.inputTokens());
                facts.put("output_tokens", e.outputTokens());
                e.cost().ifPresent(cost -> facts.put("cost", cost));
                yield told("usage", e, facts);
            }
            case RunEvent.Thought _, RunEvent.Ended _ -> Optional.empty();
        };
    }

    private static Optional<Told> told(String name, RunEvent event, Map<String, Object> facts) {
        Map<String, Object> data = new LinkedHashMap<>();
        data.put(RunEvent.RUN, event.run());
        data.putAll(facts);
        return Optional.of(new Told(name, data));
    }
}
