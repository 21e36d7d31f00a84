package dev.berth.agent.acp;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentEvent;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The files that tell OpenCode who it is, in its own directory.
 *
 * <p>There is never a key among them. Where one belongs stands the variable that holds its placeholder in the sandbox.
 */
public final class OpencodeSetup implements AcpSetup {
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
            .build();
    private static final String DIRECTORY = ".config/opencode";
    /** With less it starts, and is killed in the middle of its work. */
    private static final long MEMORY = 1L << 30;

    private static final String TOOL = AgentEvent.SHOW_FILE + ".ts";

    @Override
    public long memoryBytes() {
        return MEMORY;
    }

    @Override
    public void write(Sandbox sandbox, AgentConfig config) {
        requireRoom(sandbox.limits().memoryBytes());
        SandboxFiles files = sandbox.files();
        String directory = files.named(DIRECTORY) + "/";
        put(
                files,
                directory + "opencode.json",
                JSON.writeValueAsBytes(config(config, sandbox.env().keySet())));
        put(files, directory + "tools/" + TOOL, tool());
        // It would fetch a package for its tools that ours does not need, and wait for it where there is no network.
        // With both of these it believes that it has done so.
        files.makeDirectory(directory + "node_modules");
        put(
                files,
                directory + "package-lock.json",
                JSON.writeValueAsBytes(Map.of(
                        "packages", Map.of("", Map.of("dependencies", Map.of("@opencode-ai/plugin", "*"))))));
    }

    private static void requireRoom(long memory) {
        if (memory < MEMORY) {
            throw SandboxException.limit(
                    "OpenCode needs %d MB of memory, and this session's sandbox has %d MB; give it more"
                            .formatted(MEMORY >> 20, memory >> 20));
        }
    }

    /** What a project says about OpenCode could allow what has to be asked for. */
    @Override
    public Map<String, String> variables() {
        return Map.of(
                "OPENCODE_DISABLE_PROJECT_CONFIG", "1",
                "OPENCODE_DISABLE_AUTOUPDATE", "1",
                "OPENCODE_DISABLE_MODELS_FETCH", "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
    }

    @Override
    public Optional<String> model(AgentConfig config) {
        return Optional.of(name(config.model()));
    }

    private static String name(Model model) {
        return model.provider() + "/" + model.name();
    }

    /** A title would be one more question to the model, and nobody sees it. */
    private static Map<String, Object> config(AgentConfig config, Set<String> variables) {
        Model model = config.model();
        Map<String, Object> build = new LinkedHashMap<>();
        if (!config.instructions().isEmpty()) {
            build.put("prompt", config.instructions());
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("provider", Map.of(model.provider(), provider(model, variables)));
        all.put("enabled_providers", List.of(model.provider()));
        all.put("model", name(model));
        all.put("small_model", name(model));
        all.put("permission", Map.of("*", "allow", "bash", "ask", "edit", "ask", AgentEvent.SHOW_FILE, "ask"));
        all.put("agent", Map.of("build", build, "title", Map.of("disable", true)));
        // The model learns of what was not allowed, and can say what it would need.
        all.put("experimental", Map.of("continue_loop_on_deny", true));
        all.put("autoupdate", false);
        all.put("share", "disabled");
        return all;
    }

    private static Map<String, Object> provider(Model model, Set<String> variables) {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put(
                "apiKey",
                model.keyVariable()
                        .filter(variables::contains)
                        .map(name -> "{env:" + name + "}")
                        .orElse("none"));
        if (model.url().isEmpty()) {
            return Map.of("options", options);
        }
        options.put("baseURL", model.url().get());
        return Map.of(
                "npm",
                library(model.protocol()),
                "options",
                options,
                "models",
                Map.of(model.name(), Map.of("name", model.name())));
    }

    /** Which of its libraries speaks a protocol. It has all of these with it. */
    private static String library(String protocol) {
        return switch (protocol) {
            case "openai-completions" -> "@ai-sdk/openai-compatible";
            case "openai-responses" -> "@ai-sdk/openai";
            case "anthropic-messages" -> "@ai-sdk/anthropic";
            case "google-generative-ai" -> "@ai-sdk/google";
            default ->
                throw SandboxException.invalid("OpenCode cannot speak '" + protocol
                        + "' to a model; take openai-completions, openai-responses, anthropic-messages or"
                        + " google-generative-ai");
        };
    }

    private static byte[] tool() {
        try (InputStream in = Objects.requireNonNull(OpencodeSetup.class.getResourceAsStream(TOOL))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException("the tool is part of this program", e);
        }
    }

    private static void put(SandboxFiles files, String path, byte[] content) {
        if (!same(files, path, content)) {
            files.write(path, new ByteArrayInputStream(content), 0644);
        }
    }

    private static boolean same(SandboxFiles files, String path, byte[] content) {
        try (InputStream there = files.read(path, 0, content.length + 1L)) {
            return Arrays.equals(there.readAllBytes(), content);
        } catch (SandboxException | IOException e) {
            return false;
        }
    }
}
