package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import dev.berth.tool.ShellWords.Token;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Tells a model, before its command runs, that it is about to write where nothing is kept, or to use a language that is
 * not meant to be used.
 *
 * <p>This is a guard against mistakes and no boundary: it looks at the words of the command, and whoever wants to gets
 * past it with a variable or a script. What a command can do at all is up to the sandbox. So it lets pass what it does
 * not understand. Reading is fine anywhere; bodies of heredocs are data, and not looked at for paths.
 *
 * @param paths whether words are looked at for paths
 * @param languages whether words are looked at for languages
 */
public record CommandPolicy(boolean paths, boolean languages) {
    public static final CommandPolicy ON = new CommandPolicy(true, true);
    public static final CommandPolicy OFF = new CommandPolicy(false, false);

    /** What a command was refused for. */
    public enum Reason {
        PARENT_DIRECTORY,
        WRITE_OUTSIDE,
        LANGUAGE
    }

    /** @param sentence what is wrong, and what to do instead */
    public record Refusal(Reason reason, String sentence) {}

    private static final List<String> SCRATCH = List.of("/tmp", "/var/tmp", "/dev");

    /** Programs that write to the last of their operands. */
    private static final Set<String> WRITE_LAST = Set.of("cp", "mv", "ln", "install", "rsync", "scp");
    /** Programs that write to, or remove, each of their operands. */
    private static final Set<String> WRITE_ALL =
            Set.of("tee", "touch", "mkdir", "rm", "rmdir", "truncate", "unlink", "shred", "mkfifo");

    private static final Map<String, Language> PROGRAMS = Map.of(
            "python", Language.PYTHON,
            "python3", Language.PYTHON,
            "node", Language.NODE,
            "npm", Language.NODE,
            "npx", Language.NODE);

    /** @throws SandboxException {@code denied} with the refusal's sentence */
    public void require(String command, String workspace, Set<Language> allowed) {
        check(command, workspace, allowed).ifPresent(refusal -> {
            throw SandboxException.denied(refusal.sentence());
        });
    }

    /** @param workspace the directory that is kept, absolute */
    public Optional<Refusal> check(String command, String workspace, Set<Language> allowed) {
        Optional<Refusal> path = paths ? checkPaths(command, workspace) : Optional.empty();
        return path.isPresent() || !languages ? path : checkLanguages(command, allowed);
    }

    // ---- languages -----------------------------------------------------------------------------------------------

    private static Optional<Refusal> checkLanguages(String command, Set<Language> allowed) {
        if (!allowed.contains(Language.BASH)) {
            return Optional.of(refusal(Language.BASH, "bash", allowed));
        }
        return Arrays.stream(command.split("[\\s;&|()]+"))
                .filter(word -> PROGRAMS.containsKey(word) && !allowed.contains(PROGRAMS.get(word)))
                .findFirst()
                .map(word -> refusal(PROGRAMS.getOrDefault(word, Language.BASH), word, allowed));
    }

    private static Refusal refusal(Language language, String word, Set<Language> allowed) {
        return new Refusal(
                Reason.LANGUAGE,
                "'" + word + "' is not to be used, as " + language + " is not allowed here; allowed are "
                        + CallTerms.names(allowed));
    }

    // ---- paths ---------------------------------------------------------------------------------------------------

    private static Optional<Refusal> checkPaths(String command, String workspace) {
        List<Token> tokens = ShellWords.of(command);
        for (Token token : tokens) {
            if (!token.operator() && Arrays.asList(token.text().split("/", -1)).contains("..")) {
                return Optional.of(new Refusal(
                        Reason.PARENT_DIRECTORY,
                        "'" + token.text()
                                + "' has a '..' in it; use a path from the workspace on, or an absolute one"));
            }
        }
        int from = 0;
        for (int i = 0; i <= tokens.size(); i++) {
            if (i == tokens.size() || endsCommand(tokens.get(i))) {
                Optional<String> target = writesOutside(tokens.subList(from, i), workspace);
                if (target.isPresent()) {
                    return Optional.of(new Refusal(
                            Reason.WRITE_OUTSIDE,
                            "'" + target.get() + "' is outside of the workspace, where files are not kept; write to "
                                    + workspace + ", or to /tmp what need not last"));
                }
                from = i + 1;
            }
        }
        return Optional.empty();
    }

    private static boolean endsCommand(Token token) {
        return token.operator() && !isRedirection(token.text());
    }

    private static boolean isRedirection(String operator) {
        return operator.indexOf('<') >= 0 || operator.indexOf('>') >= 0;
    }

    private static Optional<String> writesOutside(List<Token> command, String workspace) {
        for (int i = 0; i + 1 < command.size(); i++) {
            Token token = command.get(i);
            if (token.operator()
                    && token.text().indexOf('>') >= 0
                    && outside(command.get(i + 1).text(), workspace)) {
                return Optional.of(command.get(i + 1).text());
            }
        }
        List<String> words = words(command);
        int program = 0;
        while (program < words.size()
                && (words.get(program).equals("sudo") || words.get(program).matches("[A-Za-z_]\\w*=.*"))) {
            program++;
        }
        if (program >= words.size()) {
            return Optional.empty();
        }
        List<String> operands = words.subList(program + 1, words.size()).stream()
                .filter(word -> !word.startsWith("-"))
                .toList();
        String name = words.get(program);
        List<String> written = WRITE_ALL.contains(name)
                ? operands
                : WRITE_LAST.contains(name) && !operands.isEmpty() ? List.of(operands.getLast()) : of(name, operands);
        return written.stream().filter(path -> outside(path, workspace)).findFirst();
    }

    private static List<String> of(String name, List<String> operands) {
        if (!name.equals("dd")) {
            return List.of();
        }
        return operands.stream()
                .filter(word -> word.startsWith("of="))
                .map(word -> word.substring(3))
                .toList();
    }

    /** Those of a command without what is redirected. */
    private static List<String> words(List<Token> command) {
        return IntStream.range(0, command.size())
                .filter(i -> !command.get(i).operator()
                        && (i == 0 || !command.get(i - 1).operator()))
                .mapToObj(i -> command.get(i).text())
                .toList();
    }

    private static boolean outside(String path, String workspace) {
        return path.startsWith("/")
                && !within(path, workspace)
                && SCRATCH.stream().noneMatch(directory -> within(path, directory));
    }

    private static boolean within(String path, String directory) {
        return path.equals(directory) || path.startsWith(directory + "/") || directory.equals("/");
    }
}
