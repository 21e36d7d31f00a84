package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.TemplateSpec.Credentials;
import dev.berth.sandbox.TemplateSpec.From;
import dev.berth.sandbox.TemplateSpec.Step;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import tools.jackson.databind.JsonNode;

/** Reads what is to be built, as E2B's clients write it: {@code TemplateBuildStartV2}. */
final class BuildRequest {
    /** E2B's own images, which nobody else has; ours of the same purpose stand in for them. */
    private static final Map<String, String> STAND_INS =
            Map.of("e2bdev/base", "base", "e2bdev/code-interpreter", "code-interpreter-v1");

    private final String tenant;
    private final Function<String, String> templates;
    private final Uploads uploads;

    /** @param templates tells what the provider knows a template by, of the name that a client knows */
    BuildRequest(String tenant, Function<String, String> templates, Uploads uploads) {
        this.tenant = tenant;
        this.templates = templates;
        this.uploads = uploads;
    }

    TemplateSpec read(String name, JsonNode body) {
        List<Step> steps = new ArrayList<>();
        OptionalInt anewFrom = body.path("force").asBoolean(false) ? OptionalInt.of(0) : OptionalInt.empty();
        for (JsonNode step : body.path("steps")) {
            steps.add(step(steps.size() + 1, step));
            if (anewFrom.isEmpty() && step.path("force").asBoolean(false)) {
                anewFrom = OptionalInt.of(steps.size());
            }
        }
        return new TemplateSpec(
                name, from(body), steps, text(body, "startCmd"), text(body, "readyCmd"), anewFrom, tenant);
    }

    private From from(JsonNode body) {
        Optional<String> image = text(body, "fromImage");
        Optional<String> template = text(body, "fromTemplate");
        if (image.isPresent() == template.isPresent()) {
            throw new E2bError(400, "exactly one of fromImage and fromTemplate has to be given");
        }
        if (template.isPresent()) {
            return new TemplateSpec.FromTemplate(templates.apply(template.get()));
        }
        String plain = image.get().replaceFirst("^docker\\.io/", "").replaceFirst(":[^:/]*$", "");
        return STAND_INS.containsKey(plain)
                ? new TemplateSpec.FromTemplate(templates.apply(STAND_INS.get(plain)))
                : new TemplateSpec.FromImage(image.get(), credentials(body.path("fromImageRegistry")));
    }

    private static Optional<Credentials> credentials(JsonNode registry) {
        if (registry.isMissingNode() || registry.isNull()) {
            return Optional.empty();
        }
        return switch (registry.path("type").asString("")) {
            case "registry" ->
                Optional.of(new Credentials(
                        registry.path("username").asString(""),
                        registry.path("password").asString("")));
            // As Google's registries take it, by the documentation of Artifact Registry.
            case "gcp" ->
                Optional.of(new Credentials(
                        "_json_key", registry.path("serviceAccountJson").asString("")));
            default ->
                throw new E2bError(
                        400,
                        "registries of this type cannot be asked from here; for those of AWS give the user AWS and what"
                                + " 'aws ecr get-login-password' prints as username and password");
        };
    }

    private Step step(int number, JsonNode step) {
        List<String> args = new ArrayList<>();
        step.path("args").forEach(arg -> args.add(arg.asString("")));
        String type = step.path("type").asString("").toUpperCase(Locale.ROOT);
        return switch (type) {
            case "COPY" -> copy(number, args, step.path("filesHash").asString(""));
            case "RUN" -> new TemplateSpec.Run(argument(number, type, args, 0), optional(args, 1));
            case "ENV" -> new TemplateSpec.Env(pairs(number, args));
            case "WORKDIR" -> new TemplateSpec.Workdir(argument(number, type, args, 0));
            case "USER" -> new TemplateSpec.User(argument(number, type, args, 0));
            default ->
                throw new E2bError(
                        400,
                        "step " + number + ": there is no step of type '" + type
                                + "'; there are COPY, RUN, ENV, WORKDIR and USER");
        };
    }

    private Step copy(int number, List<String> args, String hash) {
        return new TemplateSpec.Copy(
                uploads.find(tenant, hash)
                        .orElseThrow(() -> new E2bError(
                                400, "step " + number + ": the files of this step are not here; upload them first")),
                argument(number, "COPY", args, 0),
                argument(number, "COPY", args, 1),
                optional(args, 2),
                optional(args, 3)
                        .map(mode -> OptionalInt.of(mode(number, mode)))
                        .orElse(OptionalInt.empty()));
    }

    private static int mode(int number, String text) {
        if (!text.matches("[0-7]{1,5}")) {
            throw new E2bError(400, "step " + number + ": '" + text + "' is not a mode, such as 0755");
        }
        return Integer.parseInt(text, 8);
    }

    private static Map<String, String> pairs(int number, List<String> args) {
        if (args.isEmpty() || args.size() % 2 != 0) {
            throw new E2bError(400, "step " + number + ": ENV needs a name and a value, and more such pairs");
        }
        Map<String, String> pairs = new LinkedHashMap<>();
        for (int i = 0; i < args.size(); i += 2) {
            pairs.put(args.get(i), args.get(i + 1));
        }
        return pairs;
    }

    private static String argument(int number, String type, List<String> args, int index) {
        if (args.size() <= index || args.get(index).isEmpty()) {
            throw new E2bError(400, "step " + number + ": " + type + " needs " + (index + 1) + " arguments or more");
        }
        return args.get(index);
    }

    private static Optional<String> optional(List<String> args, int index) {
        return args.size() > index && !args.get(index).isEmpty() ? Optional.of(args.get(index)) : Optional.empty();
    }

    private static Optional<String> text(JsonNode body, String field) {
        return Optional.of(body.path(field).asString("")).filter(text -> !text.isBlank());
    }
}
