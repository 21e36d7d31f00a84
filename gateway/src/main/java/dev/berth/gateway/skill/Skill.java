package dev.berth.gateway.skill;

import dev.berth.sandbox.SandboxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * A bundle that was found to be one.
 *
 * @param name and {@code description}: from the front matter of its {@code SKILL.md}
 * @param files by path, with {@code SKILL.md} among them
 */
public record Skill(String name, String description, Map<String, byte[]> files) {
    public static final String PAGE = "SKILL.md";

    private static final int MOST_FILE_BYTES = 5 << 20;
    private static final int MOST_BYTES = 30 << 20;
    private static final int MOST_FILES = 500;
    private static final int MOST_DESCRIPTION = 1024;
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,63}");
    private static final Set<String> TEXT = Set.of(
            "md", "txt", "json", "yaml", "yml", "toml", "csv", "xml", "html", "css", "js", "mjs", "ts", "py", "sh",
            "bash", "zsh", "sql");
    private static final Set<String> PROGRAMS = Set.of("sh", "bash", "zsh", "py", "js", "mjs", "ts");
    private static final Pattern FRONT_MATTER =
            Pattern.compile("\\A---\\r?\\n(.*?)\\r?\\n---\\s*(\\r?\\n|\\z)", Pattern.DOTALL);

    /** Checks a bundle; fails with everything that is wrong with it. */
    public static Skill of(Map<String, byte[]> files) {
        List<String> problems = new ArrayList<>();
        long total = 0;
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            total += file.getValue().length;
            check(file.getKey(), file.getValue(), problems);
        }
        if (files.size() > MOST_FILES || total > MOST_BYTES) {
            problems.add("a skill has at most " + MOST_FILES + " files and " + MOST_BYTES + " bytes");
        }
        String name = "";
        String description = "";
        byte[] page = files.get(PAGE);
        if (page == null) {
            problems.add(PAGE + " is missing: it says what the skill is for");
        } else {
            JsonNode front = frontMatter(page, problems);
            name = front.path("name").asString("");
            description = front.path("description").asString("").strip();
            if (!NAME.matcher(name).matches()) {
                problems.add(PAGE + ": name has to have 1 to 64 characters of a-z, 0-9 and '-'");
            }
            if (description.isEmpty() || description.length() > MOST_DESCRIPTION) {
                problems.add(PAGE + ": description has to have 1 to " + MOST_DESCRIPTION + " characters");
            }
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with("errors", problems);
        }
        return new Skill(name, description, new TreeMap<>(files));
    }

    private static void check(String path, byte[] content, List<String> problems) {
        String shown = path.length() > 200 ? path.substring(0, 200) + "…" : path;
        boolean odd = path.startsWith("/") || path.indexOf('\\') >= 0 || path.indexOf('\0') >= 0;
        for (String part : path.split("/", -1)) {
            odd |= part.isEmpty() || part.equals(".") || part.equals("..") || part.length() > 255;
        }
        if (odd || path.length() > 1000) {
            problems.add("'" + shown + "' is no path in a bundle: give one such as 'scripts/run.py'");
        }
        if (!TEXT.contains(extension(path))) {
            problems.add("'" + shown + "' is not a kind of text file that a skill may have: "
                    + TEXT.stream().sorted().toList());
        }
        if (content.length > MOST_FILE_BYTES) {
            problems.add("'" + shown + "' has more than " + MOST_FILE_BYTES + " bytes");
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content));
        } catch (CharacterCodingException e) {
            problems.add("'" + shown + "' is not UTF-8 text");
        }
    }

    private static JsonNode frontMatter(byte[] page, List<String> problems) {
        YAMLMapper yaml = YAMLMapper.builder().build();
        var found = FRONT_MATTER.matcher(new String(page, StandardCharsets.UTF_8));
        if (!found.find()) {
            problems.add(PAGE + " has to begin with '---', name and description, and '---'");
            return yaml.createObjectNode();
        }
        try {
            return yaml.readTree(found.group(1));
        } catch (JacksonException e) {
            problems.add(PAGE + ": what is between the lines '---' is not YAML: " + e.getOriginalMessage());
            return yaml.createObjectNode();
        }
    }

    /** Whether a file is to be run. */
    static boolean isProgram(String path) {
        return PROGRAMS.contains(extension(path));
    }

    private static String extension(String path) {
        int dot = path.lastIndexOf('.');
        return dot < 0 ? "" : path.substring(dot + 1).toLowerCase(Locale.ROOT);
    }

    String page() {
        return new String(files.getOrDefault(PAGE, new byte[0]), StandardCharsets.UTF_8);
    }
}
