package dev.berth.gateway.agent;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.run.Permissions;
import dev.berth.gateway.approval.AgentQuestion;
import dev.berth.gateway.approval.Approvals;
import dev.berth.session.PermissionMode;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The session's permission mode, for the tools of its agent. They are known by name; one that is not known may do anything,
 * and is treated so. What an agent says it will do is its own word: the wall is the sandbox.
 */
public final class AgentPermissions implements Permissions {
    private static final Set<String> READING =
            Set.of("read", "ls", "list", "glob", "grep", "find", "search", "think", "todowrite", "todoread");
    private static final Set<String> WRITING =
            Set.of("write", "edit", "multiedit", "patch", "apply_patch", "create", "delete", "move");
    /** What of a tool's arguments says best what it does. */
    private static final List<String> TELLING = List.of("command", "path", "file_path", "filePath", "url");

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST_TITLE = 500;
    private static final int MOST_DETAIL = 4_000;
    private static final int MOST_NAME = 200;
    private static final int MOST_ARGUMENTS = 1 << 20;

    private final Sessions sessions;
    private final Approvals approvals;

    public AgentPermissions(Sessions sessions, Approvals approvals) {
        this.sessions = sessions;
        this.approvals = approvals;
    }

    @Override
    public boolean ask(SessionKey session, String run, String actor, Asked question) throws InterruptedException {
        PermissionMode mode =
                sessions.find(session).map(SessionInfo::permissionMode).orElse(PermissionMode.ASK);
        if (!asks(mode, question.tool())) {
            return true;
        }
        String tool = Plain.line(question.tool(), MOST_NAME);
        if (approvals.granted(session, tool)) {
            return true;
        }
        ObjectNode arguments = arguments(question);
        String detail = TELLING.stream()
                .map(arguments::path)
                .filter(JsonNode::isString)
                .findFirst()
                .map(text -> Plain.text(text.asString(), MOST_DETAIL))
                .orElse("");
        return approvals.ask(new AgentQuestion(
                session,
                run,
                Plain.line(question.question(), MOST_NAME),
                actor,
                tool,
                Plain.line(question.title(), MOST_TITLE),
                detail,
                arguments));
    }

    private static boolean asks(PermissionMode mode, String tool) {
        String name = tool.toLowerCase(Locale.ROOT);
        if (tool.equals(AgentEvent.SHOW_FILE) || READING.contains(name)) {
            return false;
        }
        return WRITING.contains(name) ? mode.asksToWrite() : mode.asksToRun();
    }

    /** Nobody reads a megabyte before saying yes, and the agent decides how large it is. */
    private static ObjectNode arguments(Asked question) {
        ObjectNode arguments = JSON.valueToTree(question.arguments());
        return arguments.toString().length() <= MOST_ARGUMENTS
                ? arguments
                : JSON.createObjectNode().put("note", "what it is given is too long to be shown here");
    }
}
