package dev.berth.agent.pi;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The files that tell pi who it is. All of them are in its own directory, which every version reads; in a project's
 * directory newer ones pass over them.
 *
 * <p>There is never a key among them. Where one belongs stands the placeholder that the sandbox has in a variable.
 */
final class PiSetup {
    /** The title of the questions that our extension asks. */
    static final String QUESTION = "berth";

    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
            .build();
    private static final String EXTENSION = "berth.ts";

    private final String directory;

    /** @param directory pi's own, absolute */
    PiSetup(String directory) {
        this.directory = directory;
    }

    /** Writes what is not there already. */
    void write(SandboxFiles files, AgentConfig config, Map<String, String> variables) {
        put(files, "SYSTEM.md", config.instructions().getBytes(StandardCharsets.UTF_8));
        put(files, "settings.json", JSON.writeValueAsBytes(settings(config.model())));
        put(files, "models.json", JSON.writeValueAsBytes(models(config.model(), variables)));
        put(files, "extensions/" + EXTENSION, extension());
    }

    /** Attempts of the provider's own library would not be seen; its trust in a project's files is nobody's to give. */
    private static Map<String, Object> settings(Model model) {
        return Map.of(
                "defaultProvider", model.provider(),
                "defaultModel", model.name(),
                "retry",
                        Map.of(
                                "enabled",
                                true,
                                "maxRetries",
                                3,
                                "baseDelayMs",
                                2000,
                                "provider",
                                Map.of("maxRetries", 0)),
                "defaultProjectTrust", "never",
                "enableInstallTelemetry", false);
    }

    private static Map<String, Object> models(Model model, Map<String, String> variables) {
        if (model.url().isEmpty()) {
            return Map.of("providers", Map.of());
        }
        Map<String, Object> provider = new LinkedHashMap<>();
        provider.put("baseUrl", model.url().get());
        provider.put("api", model.protocol());
        provider.put(
                "apiKey",
                model.keyVariable()
                        .map(name -> variables.getOrDefault(name, "none"))
                        .orElse("none"));
        provider.put("models", List.of(Map.of("id", model.name())));
        return Map.of("providers", Map.of(model.provider(), provider));
    }

    private static byte[] extension() {
        try (InputStream in = Objects.requireNonNull(PiSetup.class.getResourceAsStream(EXTENSION))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException("the extension is part of this program", e);
        }
    }

    private void put(SandboxFiles files, String name, byte[] content) {
        String path = directory + "/" + name;
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
