package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.local.template.oci.ImageName;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What a template file and a request for a template have in common: the instructions that a build follows.
 *
 * @param source what error messages call it
 * @param asked whether somebody asked for it, who need not be the operator: its steps are confined, and counted as steps
 *     and not as lines of a file
 * @param directory what {@code copy} takes files from
 * @param asUser whether the steps begin as the user of what they begin with, and in its working directory; otherwise
 *     they begin as root in /
 * @param anewFrom the first instruction that is done even if its result is known; 0 for all of them
 * @param scope builds of another scope share no results of steps with it
 */
record Script(
        String source,
        boolean asked,
        Optional<Path> directory,
        List<Instruction> instructions,
        boolean asUser,
        int anewFrom,
        String scope) {
    /** As useradd(8) takes them, and those that images have. */
    private static final Pattern USER = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]{0,31}");

    private static final Pattern OWNER =
            Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?");
    private static final int LONGEST = 100_000;

    Script {
        instructions = List.copyOf(instructions);
    }

    static Script of(TemplateSpec spec) {
        List<Instruction> all = new ArrayList<>();
        all.add(
                switch (spec.from()) {
                    case TemplateSpec.FromTemplate from ->
                        new Instruction.FromTemplate(0, TemplateName.parse(from.template()));
                    case TemplateSpec.FromImage from ->
                        new Instruction.FromImage(0, ImageName.parse(from.reference()), from.credentials());
                });
        int number = 0;
        for (TemplateSpec.Step step : spec.steps()) {
            number++;
            switch (step) {
                case TemplateSpec.Copy copy -> all.add(copy(number, copy));
                case TemplateSpec.Run run ->
                    all.add(new Instruction.Run(number, text(number, run.command()), user(number, run.user())));
                case TemplateSpec.Env env -> {
                    int at = number;
                    env.variables()
                            .forEach((name, value) -> all.add(new Instruction.Env(at, name, text(at, value), true)));
                }
                case TemplateSpec.Workdir workdir ->
                    all.add(new Instruction.Workdir(number, path(number, workdir.path())));
                case TemplateSpec.User user ->
                    all.add(new Instruction.User(
                            number, user(number, Optional.of(user.name())).orElseThrow(), true));
            }
        }
        int last = number;
        spec.start().ifPresent(command -> all.add(new Instruction.Start(last, text(last, command))));
        spec.ready().ifPresent(command -> all.add(new Instruction.Ready(last, text(last, command))));
        return new Script(
                "the template",
                true,
                Optional.empty(),
                all,
                true,
                spec.anewFrom().orElse(Integer.MAX_VALUE),
                spec.scope());
    }

    private static Instruction copy(int number, TemplateSpec.Copy copy) {
        copy.owner().filter(owner -> !OWNER.matcher(owner).matches()).ifPresent(owner -> {
            throw SandboxException.invalid(
                    "step " + number + ": '" + owner + "' is not an owner, such as user or user:group");
        });
        if (copy.mode().isPresent() && (copy.mode().getAsInt() & ~07777) != 0) {
            throw SandboxException.invalid("step " + number + ": a mode has the digits 0000 to 7777");
        }
        return new Instruction.Unpack(
                number,
                copy.archive(),
                text(number, copy.source()),
                path(number, copy.target()),
                copy.owner(),
                copy.mode());
    }

    private static Optional<String> user(int number, Optional<String> user) {
        user.filter(name -> !USER.matcher(name).matches()).ifPresent(name -> {
            throw SandboxException.invalid("step " + number + ": '" + name + "' is not the name of a user");
        });
        return user;
    }

    private static String path(int number, String path) {
        if (path.isEmpty() || path.length() > 4000) {
            throw SandboxException.invalid("step " + number + ": a path has 1 to 4000 characters");
        }
        return text(number, path);
    }

    private static String text(int number, String text) {
        if (text.indexOf('\0') >= 0 || text.length() > LONGEST) {
            throw SandboxException.invalid(
                    "step " + number + ": a text of it is longer than " + LONGEST + " characters, or has a NUL in it");
        }
        return text;
    }

    /** The same, with its files in a directory. */
    Script in(Path place) {
        return new Script(source, asked, Optional.of(place), instructions, asUser, anewFrom, scope);
    }

    Instruction.From from() {
        return (Instruction.From) instructions.getFirst();
    }

    List<Instruction> steps() {
        return instructions.subList(1, instructions.size());
    }

    boolean anew() {
        return anewFrom != Integer.MAX_VALUE;
    }

    /** Whether that has to be done even if its result is known. */
    boolean anew(Instruction instruction) {
        return instruction.line() >= anewFrom;
    }

    String where(Instruction instruction) {
        if (!asked) {
            return source + " line " + instruction.line();
        }
        return instruction instanceof Instruction.From ? "what it begins with" : "step " + instruction.line();
    }
}
