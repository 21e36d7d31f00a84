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
        TemplateStore store = new TemplateStore(directory);
        if (store.find(wanted).isPresent()) {
            return wanted;
        }
        TemplateName name = TemplateName.parse(wanted);
        Optional<TemplateFile> shipped =
                name.version().isPresent() ? Optional.empty() : TemplateFile.shipped(name.name());
        if (shipped.isEmpty()) {
            return store.get(wanted).id(); // not there, and it says what to do about that
        }
        console.err().println("building the template '" + wanted + "', once; this takes a minute or two");
        try {
            new TemplateBuilder(store).build(shipped.get(), name.name(), new BuildProgress(console));
            return wanted;
        } catch (SandboxException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw e;
            }
            store.get(HOST);
            console.say("could not build '" + wanted + "', so sessions start from '" + HOST + "': " + inOneLine(e));
            return HOST;
        }
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
