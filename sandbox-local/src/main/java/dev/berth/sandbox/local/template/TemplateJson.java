package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * The file {@code template.json} beside a template's root. Name, version and root follow from where it lies. What came
 * later may be missing from it.
 */
record TemplateJson(
        List<String> readOnlyHostPaths,
        Map<String, String> env,
        String workdir,
        String user,
        boolean sudo,
        Optional<List<String>> start,
        @Nullable String ready,
        String createdAt,
        long size,
        String recipe) {

    static final String FILE = "template.json";
    static final String ROOT = "root";
    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    static TemplateJson of(Template template) {
        return new TemplateJson(
                template.readOnlyHostPaths(),
                template.env(),
                template.workdir(),
                template.user(),
                template.sudo(),
                template.start(),
                template.ready().orElse(null),
                template.createdAt().toString(),
                template.size(),
                template.recipe());
    }

    void write(Path directory) throws IOException {
        Files.write(
                directory.resolve(FILE),
                MAPPER.writerWithDefaultPrettyPrinter().writeValueAsBytes(this),
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE,
                StandardOpenOption.SYNC);
    }

    static Template read(Path directory, String name, int version) throws IOException {
        Path file = directory.resolve(FILE);
        try {
            return MAPPER.readValue(Files.readAllBytes(file), TemplateJson.class)
                    .toTemplate(name, version, directory.resolve(ROOT));
        } catch (JacksonException | IllegalArgumentException | NullPointerException e) {
            throw SandboxException.unavailable(
                    "could not read the template " + name + ":" + version + ": " + file
                            + " is damaged; remove the template and build it again",
                    e);
        }
    }

    private Template toTemplate(String name, int version, Path root) {
        return new Template(
                name,
                version,
                root,
                readOnlyHostPaths,
                env,
                workdir,
                user,
                sudo,
                start,
                Optional.ofNullable(ready),
                Instant.parse(createdAt),
                size,
                recipe);
    }
}
