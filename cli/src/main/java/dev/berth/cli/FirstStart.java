package dev.berth.cli;

import dev.berth.cli.args.Durations;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.template.TemplateBuilder;
import dev.berth.sandbox.local.template.TemplateFile;
import dev.berth.sandbox.local.template.TemplateName;
import dev.berth.sandbox.local.template.TemplateStore;
import dev.berth.session.postgres.EmbeddedPostgres;
import dev.berth.session.postgres.PostgresConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** What takes long when it is done for the first time, and so is done with a word about it. */
final class FirstStart {
    private static final String HOST = "host";

    private final Console console;

    FirstStart(Console console) {
        this.console = console;
    }

    EmbeddedPostgres postgres(PostgresConfig config) {
        if (Files.exists(config.directory().resolve("data"))) {
            return EmbeddedPostgres.start(config);
        }
        console.err().println("making a PostgreSQL in " + config.directory() + " …");
        long began = System.nanoTime();
        EmbeddedPostgres postgres = EmbeddedPostgres.start(config);
        console.err().println("made it in " + Durations.format(Duration.ofNanos(System.nanoTime() - began)));
        return postgres;
    }

    /** The template that sessions start from: the one that is wanted, built if that can be; else {@code host}. */
    String template(Path directory, String wanted) {
        try {
            require(directory, wanted);
            return wanted;
        } catch (SandboxException e) {
            if (Thread.currentThread().isInterrupted() || shipped(wanted).isEmpty()) {
                throw e;
            }
            new TemplateStore(directory).get(HOST);
            console.say("could not build '" + wanted + "', so sessions start from '" + HOST + "': " + inOneLine(e));
            return HOST;
        }
    }

    /** Sees to it that a template is there: one that Berth brings along is built, any other one has to be. */
    void require(Path directory, String wanted) {
        TemplateStore store = new TemplateStore(directory);
        if (store.find(wanted).isPresent()) {
            return;
        }
        Optional<TemplateFile> file = shipped(wanted);
        if (file.isEmpty()) {
            store.get(wanted); // it says what to do about one that is not there
            return;
        }
        console.err().println("building the template '" + wanted + "', once; this takes a minute or two");
        new TemplateBuilder(store).build(file.get(), TemplateName.parse(wanted).name(), new BuildProgress(console));
    }

    private static Optional<TemplateFile> shipped(String wanted) {
        TemplateName name = TemplateName.parse(wanted);
        return name.version().isPresent() ? Optional.empty() : TemplateFile.shipped(name.name());
    }

    /** Those of the templates that are there. */
    Map<String, Integer> warm(Path directory, Map<String, Integer> wanted) {
        TemplateStore store = new TemplateStore(directory);
        Map<String, Integer> there = new TreeMap<>(wanted);
        there.keySet().removeIf(name -> {
            boolean missing = store.find(name).isEmpty();
            if (missing) {
                console.say("no sandboxes are kept ready of '" + name + "': there is no such template");
            }
            return missing;
        });
        return there;
    }

    /** What failed, and the last thing that the failed program said. */
    private static String inOneLine(SandboxException e) {
        List<String> lines = String.valueOf(e.getMessage())
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
        return lines.size() < 2 ? String.join("", lines) : lines.getFirst() + " " + lines.getLast();
    }
}
