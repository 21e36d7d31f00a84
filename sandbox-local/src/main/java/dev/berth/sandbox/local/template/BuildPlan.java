package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a template file means: the steps that change files, each with the user, directory and variables it works with,
 * and the defaults that the template ends up with.
 *
 * <p>Every step has a key, the hash of all that decides its result: its instruction, its circumstances and the step
 * before it. Equal keys mean equal work, which is what the cache goes by.
 */
record BuildPlan(
        String firstKey,
        List<Step> steps,
        Map<String, String> env,
        String workdir,
        String user,
        Optional<List<String>> start,
        String recipe) {

    /** Counted up when the same instructions come to mean something else. */
    private static final int FORMAT = 1;

    private static final Map<String, String> DEBIAN_ENV =
            Map.of("LANG", "C.UTF-8", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");

    /** One instruction that changes files. */
    record Step(Instruction instruction, String key, String user, String workdir, Map<String, String> env) {}

    static BuildPlan of(TemplateFile file, Optional<Template> parent) throws IOException {
        Map<String, String> env = new TreeMap<>(parent.map(Template::env).orElse(DEBIAN_ENV));
        String user = "root";
        String workdir = "/";
        String finalUser = parent.map(Template::user).orElse("user");
        String finalWorkdir = parent.map(Template::workdir).orElse("/home/user");
        Optional<List<String>> start = parent.flatMap(Template::start);
        String key = firstKey(file.from(), parent);
        String firstKey = key;
        List<Step> steps = new ArrayList<>();
        for (Instruction instruction :
                file.instructions().subList(1, file.instructions().size())) {
            switch (instruction) {
                case Instruction.Env set -> env.put(set.name(), set.value());
                case Instruction.User change -> finalUser = user = change.name();
                case Instruction.Start command -> start = Optional.of(List.of("/bin/bash", "-c", command.command()));
                default -> {
                    if (instruction instanceof Instruction.Workdir change) {
                        finalWorkdir = workdir = change.path();
                    }
                    key = key(key, instruction, file, user, workdir, env);
                    steps.add(new Step(instruction, key, user, workdir, Map.copyOf(env)));
                }
            }
        }
        String recipe = new Hash()
                .add(key)
                .add(env.toString())
                .add(finalWorkdir)
                .add(finalUser)
                .add(start.toString())
                .result();
        return new BuildPlan(firstKey, steps, env, finalWorkdir, finalUser, start, recipe);
    }

    private static String firstKey(Instruction.From from, Optional<Template> parent) {
        return switch (from) {
            case Instruction.FromDebian debian ->
                new Hash()
                        .add(FORMAT)
                        .add("debian")
                        .add(debian.suite())
                        .add(DebianBootstrap.architecture())
                        .add(DebianBootstrap.FORMAT)
                        .result();
            case Instruction.FromTemplate template ->
                new Hash()
                        .add(FORMAT)
                        .add("template")
                        .add(parent.orElseThrow().id())
                        .add(parent.orElseThrow().recipe())
                        .add(parent.orElseThrow().createdAt().toString())
                        .result();
        };
    }

    private static String key(
            String before,
            Instruction instruction,
            TemplateFile file,
            String user,
            String workdir,
            Map<String, String> env)
            throws IOException {
        Hash hash = new Hash().add(before).add(instruction.text());
        switch (instruction) {
            case Instruction.Copy copy ->
                hash.add(user).add(CopySource.of(file, copy).contentHash());
            case Instruction.Run run -> hash.add(user).add(workdir).add(env.toString());
            default -> hash.add(user);
        }
        return hash.result();
    }
}
