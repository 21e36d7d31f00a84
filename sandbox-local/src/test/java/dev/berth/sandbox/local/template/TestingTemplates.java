package dev.berth.sandbox.local.template;

import dev.berth.sandbox.BuildEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Templates for tests. */
public final class TestingTemplates {
    private TestingTemplates() {}

    /** Where tests of the whole project share built templates, so that base is built once on a machine. */
    public static TemplateStore shared() {
        return new TemplateStore(Path.of(
                Optional.ofNullable(System.getenv("BERTH_TEST_TEMPLATES")).orElse("/var/tmp/berth-test-templates")));
    }

    /** Base, built when it is not there yet. */
    public static Template base() {
        TemplateFile file = TemplateFile.shipped("base").orElseThrow();
        return new TemplateBuilder(shared()).build(file, "base", TestingTemplates::print);
    }

    /** What coding agents need, built when it is not there yet. */
    public static Template agent() {
        TemplateFile file = TemplateFile.shipped("agent").orElseThrow();
        return new TemplateBuilder(shared()).build(file, "agent", TestingTemplates::print);
    }

    /** What runs code for port 49999, built when it is not there yet. */
    public static Template codeInterpreter() {
        TemplateFile file = TemplateFile.shipped("code-interpreter-v1").orElseThrow();
        return new TemplateBuilder(shared()).build(file, "code-interpreter-v1", TestingTemplates::print);
    }

    /** A template of its own, on top of base. */
    public static Template build(String name, String text) {
        base();
        return new TemplateBuilder(shared()).build(file(text), name, TestingTemplates::print);
    }

    static TemplateFile file(String text) {
        return TemplateFile.parse("test.template", text, Optional.empty());
    }

    /** What a command writes when it runs in the template as its default user, on a throw-away overlay. */
    static String run(Template template, String command) throws IOException {
        return run(template, template.user(), command);
    }

    static String run(Template template, String user, String command) throws IOException {
        Path scratch = Files.createTempDirectory("berth-run-in-template");
        try {
            Path layers = FileTree.privateDirectory(scratch.resolve("layers"));
            Path upper = scratch.resolve("upper");
            BuildNetwork network = BuildNetwork.of(System.getenv());
            Map<String, String> env = new TreeMap<>(network.env());
            env.putAll(template.env());
            List<String> output = Collections.synchronizedList(new ArrayList<>());
            var ended = new StepContainer(layers, scratch, network, template.readOnlyHostPaths(), false)
                    .run(
                            List.of(layers.relativize(template.root()).toString()),
                            upper,
                            new StepContainer.Work(List.of("run", user, command), template.workdir(), env, Map.of()),
                            StepContainer.Way.HOST,
                            Optional.empty(),
                            output::add);
            return String.join("\n", output) + (ended.ok() ? "" : "\nstatus " + ended.status());
        } finally {
            FileTree.delete(scratch);
        }
    }

    private static void print(BuildEvent event) {
        if (event instanceof BuildEvent.StepFinished done) {
            System.out.println("step " + done.number() + "/" + done.total() + " " + done.text() + ": "
                    + done.took().toMillis() + " ms" + (done.cached() ? ", cached" : ""));
        }
    }
}
