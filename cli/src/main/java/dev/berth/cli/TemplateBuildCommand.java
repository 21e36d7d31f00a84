package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateBuilder;
import dev.berth.sandbox.local.template.TemplateFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code berth template build}. */
final class TemplateBuildCommand implements Subcommand {
    private static final String SUFFIX = ".template";
    private static final Option<String> NAME =
            Option.of("--name", "NAME", "What to call it (default: the file's name without .template).");
    private static final Option<Boolean> FRESH =
            Option.flag("--fresh", "Build every step anew, to get the packages of today.");

    @Override
    public Syntax syntax() {
        return new Syntax(
                "template build",
                "Build what sandboxes start from.",
                List.of("[OPTION…] [FILE | NAME]"),
                new Operands(0, 1, false),
                List.of(NAME, FRESH, LocalOptions.DATA),
                List.of(
                        "Steps that were built before are taken as they are. docs/templates.md tells what a FILE is.",
                        "",
                        "Examples:",
                        "  berth template build                         the 'base' that Berth comes with",
                        "  berth template build ./analytics.template    one of your own"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        String what =
                arguments.operands().isEmpty() ? "base" : arguments.operands().getFirst();
        TemplateFile file = file(what);
        String name = arguments.get(NAME).orElseGet(() -> name(what));
        TemplateBuilder builder = new TemplateBuilder(Wiring.templates(LocalOptions.config(arguments, console.env())));
        BuildProgress progress = new BuildProgress(console);
        Template built =
                arguments.has(FRESH) ? builder.rebuild(file, name, progress) : builder.build(file, name, progress);
        console.out().println(built.id());
        return 0;
    }

    /** A plain word is a template that Berth comes with, if there is one of that name; all else is a file. */
    private static TemplateFile file(String what) {
        Optional<TemplateFile> shipped =
                what.contains("/") || what.endsWith(SUFFIX) ? Optional.empty() : TemplateFile.shipped(what);
        return shipped.orElseGet(() -> TemplateFile.read(Path.of(what)));
    }

    static String name(String what) {
        String file = what.substring(what.lastIndexOf('/') + 1);
        return file.endsWith(SUFFIX) ? file.substring(0, file.length() - SUFFIX.length()) : file;
    }
}
