package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a script means: the steps that change files, each with the user, directory and variables it works with, and the
 * defaults that the template ends up with.
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
        Optional<String> ready,
        String recipe) {
    private static final Pattern VARIABLE =
            Pattern.compile("\\$(?:\\{([A-Za-z_][A-Za-z0-9_]*)}|([A-Za-z_][A-Za-z0-9_]*))");

    /** One instruction that changes files. */
    record Step(Instruction instruction, String key, String user, String workdir, Map<String, String> env) {}

    static BuildPlan of(Script script, Beginning beginning) throws IOException {
        Map<String, String> env = new TreeMap<>(beginning.env());
        String user = script.asUser() ? beginning.user() : "root";
        String workdir = script.asUser() ? beginning.workdir() : "/";
        String finalUser = beginning.user();
        String finalWorkdir = beginning.workdir();
        Optional<List<String>> start = beginning.start();
        Optional<String> ready = beginning.ready();
        String firstKey = beginning.key();
        String key = script.asked() ? scoped(firstKey, script) : firstKey;
        List<Step> steps = new ArrayList<>();
        for (Instruction instruction : script.steps()) {
            switch (instruction) {
                case Instruction.Env set -> env.put(set.name(), set.expands() ? expand(set.value(), env) : set.value());
                case Instruction.User change
                when !change.made()
                        || change.name().equals("root")
                        || change.name().equals(beginning.user()) -> finalUser = user = change.name();
                case Instruction.Start command -> {
                    start = Optional.of(List.of("/bin/bash", "-c", command.command()));
                    ready = Optional.empty(); // of another one
                }
                case Instruction.Ready command -> ready = Optional.of(command.command());
                default -> {
                    if (instruction instanceof Instruction.Workdir change) {
                        finalWorkdir = workdir = Path.of(workdir)
                                .resolve(change.path())
                                .normalize()
                                .toString();
                    }
                    if (instruction instanceof Instruction.User change) {
                        finalUser = user = change.name();
                    }
                    key = key(key, instruction, script, user, workdir, env);
                    steps.add(new Step(instruction, key, user, workdir, Map.copyOf(env)));
                }
            }
        }
        Hash recipe = new Hash()
                .add(key)
                .add(env)
                .add(finalWorkdir)
                .add(finalUser)
                .add(start.orElse(List.of()))
                .add(ready.stream().toList());
        return new BuildPlan(firstKey, steps, env, finalWorkdir, finalUser, start, ready, recipe.result());
    }

    /** How the steps of others are kept in decides what they do, so what was done in another way is not used again. */
    private static String scoped(String firstKey, Script script) {
        return new Hash()
                .add(firstKey)
                .add("scope")
                .add(script.scope())
                .add(Resources.text("inside.sh"))
                .add(Resources.text("step.json"))
                .add(StepFilter.make().toString())
                .result();
    }

    /** What is not set is nothing, as in a shell. */
    private static String expand(String value, Map<String, String> env) {
        return VARIABLE.matcher(value).replaceAll(variable -> {
            String name = variable.group(1) == null ? variable.group(2) : variable.group(1);
            return Matcher.quoteReplacement(env.getOrDefault(name, ""));
        });
    }

    private static String key(
            String before, Instruction instruction, Script script, String user, String workdir, Map<String, String> env)
            throws IOException {
        Hash hash = new Hash().add(before).add(instruction.text());
        switch (instruction) {
            case Instruction.Copy copy ->
                hash.add(user).add(CopySource.of(script, copy).contentHash());
            case Instruction.Unpack unpack ->
                hash.add(unpack.source())
                        .add(unpack.target())
                        .add(unpack.owner().orElse(user))
                        .add(workdir)
                        .add(unpack.mode().orElse(-1))
                        .add(Hash.ofFile(unpack.archive()));
            case Instruction.Run run ->
                hash.add(run.as().orElse(user)).add(workdir).add(env);
            case Instruction.Workdir _ when script.asUser() -> hash.add(user).add(workdir);
            default -> hash.add(user);
        }
        return hash.result();
    }
}
