package dev.berth.sandbox;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How a template is to be made: what it begins with, the steps that change it, and what its sandboxes run at their start.
 *
 * @param name of the template; the build gives it the next version
 * @param steps done one after the other, as the user of the template they begin with until a {@link User} says otherwise
 * @param start what each sandbox runs as soon as it is there
 * @param ready a command that ends with 0 once {@code start} is up to its work
 * @param anewFrom the first step that is done even if its result is known, counted from 1; 0 for what it begins with as
 *     well
 * @param scope whose results of earlier builds may be used: those of builds of the same scope
 */
public record TemplateSpec(
        String name,
        From from,
        List<Step> steps,
        Optional<String> start,
        Optional<String> ready,
        OptionalInt anewFrom,
        String scope) {
    public static final int MOST_STEPS = 100;

    public TemplateSpec {
        steps = List.copyOf(steps);
        if (steps.size() > MOST_STEPS) {
            throw SandboxException.invalid("a template has at most " + MOST_STEPS + " steps; join some of them, or"
                    + " build two templates, one from the other");
        }
    }

    public static TemplateSpec of(String name, From from, Step... steps) {
        return new TemplateSpec(
                name, from, List.of(steps), Optional.empty(), Optional.empty(), OptionalInt.empty(), "");
    }

    public TemplateSpec withStart(String command, String readyCommand) {
        return new TemplateSpec(name, from, steps, Optional.of(command), Optional.of(readyCommand), anewFrom, scope);
    }

    public TemplateSpec withAnewFrom(int step) {
        return new TemplateSpec(name, from, steps, start, ready, OptionalInt.of(step), scope);
    }

    /** What a template begins with. */
    public sealed interface From {}

    /** Another template, by its name or name and version. */
    public record FromTemplate(String template) implements From {}

    /** An OCI image of a registry, such as {@code debian:bookworm} or {@code ghcr.io/owner/image@sha256:…}. */
    public record FromImage(String reference, Optional<Credentials> credentials) implements From {}

    /** Who asks a registry. They are used while the image is fetched and kept nowhere. */
    public record Credentials(String user, String password) {
        @Override
        public String toString() {
            return "Credentials[" + user + "]";
        }
    }

    /** One step. */
    public sealed interface Step {}

    /**
     * Puts files of an archive into the template: a file at the target's path, or what is in a directory into the target.
     *
     * @param archive a tar file, which may be packed with gzip or zstd; whatever is in it, it reaches the template only
     * @param source what of the archive; with wildcards, what the path before them has
     * @param target an absolute path, or one relative to the working directory
     * @param owner {@code user} or {@code user:group}; the user of the step if nobody is named
     * @param mode for all of it, if it should have another one than in the archive
     */
    public record Copy(Path archive, String source, String target, Optional<String> owner, OptionalInt mode)
            implements Step {}

    /** Runs a command by bash, as a certain user or as that of the steps. */
    public record Run(String command, Optional<String> user) implements Step {
        public static Run of(String command) {
            return new Run(command, Optional.empty());
        }
    }

    /** Sets variables for the steps that follow and for the sandboxes; {@code $NAME} is what was set before. */
    public record Env(Map<String, String> variables) implements Step {
        public Env {
            variables = Collections.unmodifiableMap(new LinkedHashMap<>(variables));
            variables.forEach((name, value) -> {
                Objects.requireNonNull(value);
                Command.checkEnv(Map.of(name, value));
            });
        }
    }

    /** Where the steps that follow and the sandboxes' commands start; made if it is not there. */
    public record Workdir(String path) implements Step {}

    /** Whom the steps that follow and the sandboxes' commands run as; made if there is no such user. */
    public record User(String name) implements Step {}
}
