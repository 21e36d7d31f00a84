package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Reads the text of a template file. Whatever is wrong is said with its line and what to write instead. */
final class TemplateFileParser {
    static final int MOST_INSTRUCTIONS = 100;

    private static final Pattern SUITE = Pattern.compile("[a-z][a-z0-9-]{1,30}");
    private static final Pattern PACKAGE =
            Pattern.compile("[a-z0-9][a-z0-9+.-]*[a-z0-9+](:[a-z0-9]+)?([=/][A-Za-z0-9.+:~-]+)?");
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern USER = Pattern.compile("[a-z_][a-z0-9_-]{0,31}");
    private static final List<String> KNOWN =
            List.of("from", "package", "copy", "run", "env", "workdir", "user", "start", "ready");
    private static final Map<String, String> MEANT = Map.of(
            "packages", "package",
            "install", "package",
            "apt", "package",
            "add", "copy",
            "cmd", "start",
            "entrypoint", "start",
            "environment", "env",
            "cwd", "workdir",
            "exec", "run");

    private final String source;

    TemplateFileParser(String source) {
        this.source = source;
    }

    /** Several lines of the file joined into one, and where it began. */
    private record Line(int number, String text) {}

    List<Instruction> parse(String text) {
        List<Instruction> instructions = new ArrayList<>();
        for (Line line : join(text)) {
            Instruction instruction = instruction(line);
            boolean first = instructions.isEmpty();
            if (first != instruction instanceof Instruction.From) {
                throw wrong(
                        line.number,
                        first
                                ? "the first instruction has to be 'from', like 'from base' or 'from debian:bookworm'"
                                : "'from' can only be the first instruction; remove this one");
            }
            boolean single = instruction instanceof Instruction.Start || instruction instanceof Instruction.Ready;
            if (single && instructions.stream().anyMatch(instruction.getClass()::isInstance)) {
                throw wrong(
                        line.number, "there is a '" + line.text.split("\\s+", 2)[0] + "' already; keep one of them");
            }
            instructions.add(instruction);
            if (instructions.size() > MOST_INSTRUCTIONS) {
                throw wrong(
                        line.number,
                        "a template file has at most " + MOST_INSTRUCTIONS
                                + " instructions; join some, or split the file"
                                + " in two templates, one 'from' the other");
            }
        }
        if (instructions.isEmpty()) {
            throw SandboxException.invalid(source + " has no instructions; begin with 'from base'");
        }
        return instructions;
    }

    private List<Line> join(String text) {
        if (text.indexOf('\0') >= 0) {
            throw SandboxException.invalid(source + " has a NUL character in it, so it is not a template file");
        }
        List<Line> lines = new ArrayList<>();
        StringBuilder joined = new StringBuilder();
        int begin = 0;
        int number = 0;
        boolean open = false;
        for (String raw : text.lines().toList()) {
            number++;
            String line = raw.stripTrailing();
            if (line.stripLeading().startsWith("#") || (line.isBlank() && !open)) {
                continue;
            }
            if (!open) {
                begin = number;
            }
            open = line.endsWith("\\");
            joined.append(open ? line.substring(0, line.length() - 1) : line);
            if (!open) {
                lines.add(new Line(begin, joined.toString().strip()));
                joined.setLength(0);
            }
        }
        if (open) {
            throw wrong(begin, "it ends with '\\' and no line follows; remove the '\\' or add the line");
        }
        return lines;
    }

    private Instruction instruction(Line line) {
        String[] parts = line.text.split("\\s+", 2);
        String word = parts[0];
        String rest = parts.length > 1 ? parts[1] : "";
        int at = line.number;
        return switch (word) {
            case "from" -> from(at, one(at, rest, "from", "from base"));
            case "package" -> packages(at, words(at, some(at, rest, "package", "package git curl")));
            case "copy" -> copy(at, words(at, some(at, rest, "copy", "copy app /home/user/app")));
            case "run" -> new Instruction.Run(at, some(at, rest, "run", "run pip install requests"));
            case "env" -> env(at, some(at, rest, "env", "env NAME=VALUE"));
            case "workdir" ->
                new Instruction.Workdir(
                        at, absolute(at, one(at, rest, "workdir", "workdir /home/user"), "the working directory"));
            case "user" -> user(at, one(at, rest, "user", "user user"));
            case "start" -> new Instruction.Start(at, some(at, rest, "start", "start python -m http.server"));
            case "ready" -> new Instruction.Ready(at, some(at, rest, "ready", "ready curl -fs http://localhost:8000"));
            default -> throw unknown(at, word);
        };
    }

    private Instruction.From from(int line, String origin) {
        if (origin.equals("debian") || origin.startsWith("debian:")) {
            String suite = origin.substring(Math.min(origin.length(), "debian:".length()));
            if (!SUITE.matcher(suite).matches()) {
                throw wrong(line, "'" + origin + "' names no Debian suite; write 'from debian:bookworm'");
            }
            return new Instruction.FromDebian(line, suite);
        }
        try {
            return new Instruction.FromTemplate(line, TemplateName.parse(origin));
        } catch (SandboxException e) {
            throw wrong(line, String.valueOf(e.getMessage()));
        }
    }

    private Instruction packages(int line, List<String> names) {
        for (String name : names) {
            if (!PACKAGE.matcher(name).matches()) {
                throw wrong(
                        line,
                        "'" + name + "' is not the name of a Debian package; write names like git or python3-pip");
            }
        }
        return new Instruction.Packages(line, names);
    }

    private Instruction copy(int line, List<String> words) {
        if (words.size() != 2) {
            throw wrong(
                    line,
                    "'copy' takes a source and a target, like 'copy app /home/user/app'; put \"…\" around a path with"
                            + " spaces");
        }
        Path path = Path.of(words.getFirst());
        if (path.isAbsolute() || path.normalize().startsWith("..")) {
            throw wrong(
                    line,
                    "'" + path + "' is outside the template file's directory; copy it there first and write its name");
        }
        return new Instruction.Copy(
                line, path.normalize().toString(), absolute(line, words.getLast(), "the target of a copy"));
    }

    private Instruction env(int line, String text) {
        int equals = text.indexOf('=');
        String name = equals < 0 ? text : text.substring(0, equals);
        if (equals < 0 || !VARIABLE.matcher(name).matches()) {
            throw wrong(line, "'" + name + "' sets no variable; write 'env NAME=VALUE', one to a line");
        }
        String value = text.substring(equals + 1);
        boolean quoted = value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"");
        return new Instruction.Env(line, name, quoted ? value.substring(1, value.length() - 1) : value);
    }

    private Instruction user(int line, String name) {
        if (!USER.matcher(name).matches()) {
            throw wrong(line, "'" + name + "' is not the name of a user; write one like 'user' or 'root'");
        }
        return new Instruction.User(line, name);
    }

    private String absolute(int line, String path, String what) {
        if (!path.startsWith("/")
                || Path.of(path).normalize().getNameCount() != Path.of(path).getNameCount()) {
            throw wrong(line, what + " has to be a whole path like /home/user/app, not '" + path + "'");
        }
        return path;
    }

    private String some(int line, String rest, String word, String example) {
        if (rest.isEmpty()) {
            throw wrong(line, "'" + word + "' says nothing; write for example '" + example + "'");
        }
        return rest;
    }

    private String one(int line, String rest, String word, String example) {
        List<String> words = words(line, some(line, rest, word, example));
        if (words.size() != 1) {
            throw wrong(line, "'" + word + "' takes one word, not '" + rest + "'; write for example '" + example + "'");
        }
        return words.getFirst();
    }

    /** Splits at blanks; blanks between double quotes belong to the word. */
    private List<String> words(int line, String text) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean quoted = false;
        boolean any = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"') {
                quoted = !quoted;
                any = true;
            } else if (Character.isWhitespace(c) && !quoted) {
                if (any) {
                    words.add(word.toString());
                }
                word.setLength(0);
                any = false;
            } else {
                word.append(c);
                any = true;
            }
        }
        if (quoted) {
            throw wrong(line, "a '\"' is not closed; add the second one");
        }
        if (any) {
            words.add(word.toString());
        }
        if (words.contains("")) {
            throw wrong(line, "\"\" is an empty word; remove it");
        }
        return words;
    }

    private SandboxException unknown(int line, String word) {
        String lower = word.toLowerCase(java.util.Locale.ROOT);
        String meant = MEANT.getOrDefault(lower, KNOWN.contains(lower) ? lower : "");
        return wrong(
                line,
                "unknown instruction '" + word + "'; "
                        + (meant.isEmpty()
                                ? "the instructions are " + String.join(", ", KNOWN)
                                : "write '" + meant + "'"));
    }

    private SandboxException wrong(int line, String what) {
        return SandboxException.invalid(source + " line " + line + ": " + what);
    }
}
