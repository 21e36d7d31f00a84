package dev.berth.agent.run;

import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionEvent;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What happens in a run, as the session's log has it. Whoever shows a run reads it from there, so it does not matter when
 * they came, or which server it goes on in.
 */
public sealed interface RunEvent {
    /** The id of the run. */
    String run();

    record Began(String run, String runtime) implements RunEvent {}

    /** What is going on that is neither text nor a tool; empty for nothing worth a word. */
    record Status(String run, String text) implements RunEvent {}

    /** A message was taken up in a run that went on. */
    record Steered(String run, String actor) implements RunEvent {}

    record Text(String run, String text) implements RunEvent {}

    record Thought(String run, String text) implements RunEvent {}

    record ToolStarted(String run, String call, String tool, String title, Map<String, Object> arguments)
            implements RunEvent {}

    /** @param output the end of what it has printed so far */
    record ToolUpdated(String run, String call, String output) implements RunEvent {}

    record ToolEnded(String run, String call, boolean ok, String output) implements RunEvent {}

    /** There is a file for people to see. */
    record Shown(String run, String artifact, String name, String title, String mimeType, long size)
            implements RunEvent {}

    /** Somebody is asked, or has decided. */
    record Approval(String run, String approval, String tool, String title, String state, Optional<String> decidedBy)
            implements RunEvent {}

    record Used(String run, long inputTokens, long outputTokens, Optional<Double> cost) implements RunEvent {}

    record Ended(String run, Outcome outcome, Optional<String> error) implements RunEvent {}

    /** What artifacts and approvals of a run have it under, besides their own facts. */
    String RUN = "run_id";

    /** As it is written to the log. Approvals and artifacts are written by whoever makes them. */
    default SessionEvent logged(String actor) {
        return switch (this) {
            case Began e -> event("run.begin", actor).with("runtime", e.runtime);
            case Status e -> event("run.status", actor).with("text", e.text);
            case Steered e -> event("run.steer", e.actor);
            case Text e -> event("run.text", actor).with("text", e.text);
            case Thought e -> event("run.thought", actor).with("text", e.text);
            case ToolStarted e ->
                event("run.tool.start", actor)
                        .with("call", e.call)
                        .with("tool", e.tool)
                        .with("title", e.title)
                        .with("arguments", e.arguments);
            case ToolUpdated e ->
                event("run.tool.update", actor).with("call", e.call).with("output", e.output);
            case ToolEnded e ->
                event("run.tool.end", actor)
                        .with("call", e.call)
                        .with("ok", e.ok)
                        .with("output", e.output);
            case Used e -> {
                SessionEvent used = event("run.usage", actor)
                        .with("input_tokens", e.inputTokens)
                        .with("output_tokens", e.outputTokens);
                yield e.cost.map(cost -> used.with("cost", cost)).orElse(used);
            }
            case Ended e -> {
                SessionEvent ended =
                        event("run.end", actor).with("outcome", e.outcome.name().toLowerCase(Locale.ROOT));
                yield e.error.map(error -> ended.with("error", error)).orElse(ended);
            }
            case Shown _, Approval _ -> throw new IllegalStateException("written by whoever makes it");
        };
    }

    private SessionEvent event(String type, String actor) {
        return SessionEvent.of(type).by(actor).with(RUN, run());
    }

    /** What a logged event says of a run; empty if it is about something else. */
    static Optional<RunEvent> of(LoggedEvent event) {
        Map<String, Object> data = event.data();
        if (!(data.get(RUN) instanceof String run)) {
            return Optional.empty();
        }
        return Optional.ofNullable(
                switch (event.type()) {
                    case "run.begin" -> new Began(run, text(data, "runtime"));
                    case "run.status" -> new Status(run, text(data, "text"));
                    case "run.steer" -> new Steered(run, event.actor());
                    case "run.text" -> new Text(run, text(data, "text"));
                    case "run.thought" -> new Thought(run, text(data, "text"));
                    case "run.tool.start" ->
                        new ToolStarted(
                                run,
                                text(data, "call"),
                                text(data, "tool"),
                                text(data, "title"),
                                map(data.get("arguments")));
                    case "run.tool.update" -> new ToolUpdated(run, text(data, "call"), text(data, "output"));
                    case "run.tool.end" ->
                        new ToolEnded(
                                run, text(data, "call"), Boolean.TRUE.equals(data.get("ok")), text(data, "output"));
                    case "run.usage" ->
                        new Used(
                                run,
                                number(data, "input_tokens"),
                                number(data, "output_tokens"),
                                data.get("cost") instanceof Number cost
                                        ? Optional.of(cost.doubleValue())
                                        : Optional.empty());
                    case "run.end" ->
                        new Ended(
                                run,
                                Outcome.valueOf(text(data, "outcome").toUpperCase(Locale.ROOT)),
                                Optional.ofNullable((String) data.get("error")));
                    case "artifact.made" ->
                        new Shown(
                                run,
                                text(data, "artifact_id"),
                                text(data, "name"),
                                text(data, "title"),
                                text(data, "mime_type"),
                                number(data, "size"));
                    case "approval.requested", "approval.approved", "approval.denied", "approval.expired" ->
                        new Approval(
                                run,
                                text(data, "approval_id"),
                                text(data, "tool"),
                                text(data, "title"),
                                event.type().substring("approval.".length()),
                                event.type().equals("approval.requested")
                                        ? Optional.empty()
                                        : Optional.of(event.actor()));
                    default -> null;
                });
    }

    private static String text(Map<String, Object> data, String name) {
        return data.get(name) instanceof String text ? text : "";
    }

    private static long number(Map<String, Object> data, String name) {
        return data.get(name) instanceof Number number ? number.longValue() : 0;
    }

    private static Map<String, Object> map(@org.jspecify.annotations.Nullable Object value) {
        if (!(value instanceof Map<?, ?> entries)) {
            return Map.of();
        }
        Map<String, Object> map = new java.util.LinkedHashMap<>();
        entries.forEach((key, entry) -> map.put(String.valueOf(key), entry));
        return map;
    }
}
