package dev.berth.gateway.mcp;

import java.util.List;
import java.util.Map;

/** The result of a tool as a model reads it. */
final class ToolText {
    private ToolText() {}

    static String of(Map<String, Object> result) {
        if (waits(result)) {
            return "Not done yet: a person has to allow this first (approval " + result.get("approval_id")
                    + "). It is done as soon as that happens. Do not repeat the call; ask the person, and look at what it"
                    + " did afterwards.";
        }
        if (!result.containsKey("stdout")) {
            return Messages.JSON.writerWithDefaultPrettyPrinter().writeValueAsString(result);
        }
        StringBuilder text = new StringBuilder();
        if (result.get("loss") instanceof String loss) {
            note(text, loss, "");
        }
        text.append(string(result, "stdout"));
        String errors = string(result, "stderr");
        if (!errors.isEmpty()) {
            if (!text.isEmpty()) {
                note(text, "stderr:", "");
            }
            text.append(errors);
        }
        if (Boolean.TRUE.equals(result.get("timed_out"))) {
            note(text, "it ran out of time and was ended", "");
        } else if (result.get("exit_code") instanceof Number code && code.intValue() != 0) {
            note(text, code, "exit code ");
        }
        if (Boolean.TRUE.equals(result.get("truncated"))) {
            note(text, "the output was longer and is cut", "");
        }
        if (result.get("limits_hit") instanceof List<?> limits && !limits.isEmpty()) {
            note(text, limits, "limits that were reached: ");
        }
        return text.isEmpty() ? "(no output)" : text.toString();
    }

    /** Whether it waits for a person. */
    static boolean waits(Map<String, Object> result) {
        return result.containsKey("approval_id");
    }

    private static void note(StringBuilder text, Object what, String before) {
        if (!text.isEmpty() && text.charAt(text.length() - 1) != '\n') {
            text.append('\n');
        }
        text.append('[').append(before).append(what).append("]\n");
    }

    private static String string(Map<String, Object> result, String field) {
        return result.get(field) instanceof String text ? text : "";
    }
}
