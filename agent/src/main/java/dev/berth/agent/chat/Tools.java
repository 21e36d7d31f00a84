package dev.berth.agent.chat;

import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What the model is told about its tools. */
final class Tools {
    static final String SANDBOX = "sandbox";
    static final String SHOW_FILE = "show_file";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Tools() {}

    static ArrayNode all() {
        ArrayNode tools = JSON.createArrayNode();
        ObjectNode sandbox = tool(
                tools,
                SANDBOX,
                "Gives a task to the coding agent on this conversation's own Linux computer, which runs commands, writes"
                        + " and tests programs and works with files there, and answers with its report. It remembers"
                        + " earlier tasks and keeps its files, but does not hear this conversation.");
        parameter(sandbox, "task", "What is to be done, with all that the agent needs to know for it", true);
        ObjectNode show = tool(
                tools,
                SHOW_FILE,
                "Shows a file from the computer to the people in this conversation: a picture, a document, a result they"
                        + " asked for.");
        parameter(show, "path", "The file, absolute or relative to the agent's working directory", true);
        parameter(show, "title", "What it is, in a few words", false);
        return tools;
    }

    private static ObjectNode tool(ArrayNode tools, String name, String description) {
        ObjectNode function = tools.addObject().put("type", "function").putObject("function");
        function.put("name", name).put("description", description);
        ObjectNode parameters = function.putObject("parameters").put("type", "object");
        parameters.putObject("properties");
        parameters.putArray("required");
        return parameters;
    }

    private static void parameter(ObjectNode parameters, String name, String description, boolean required) {
        parameters
                .withObject("properties")
                .putObject(name)
                .put("type", "string")
                .put("description", description);
        if (required) {
            parameters.withArray("required").add(name);
        }
    }
}
