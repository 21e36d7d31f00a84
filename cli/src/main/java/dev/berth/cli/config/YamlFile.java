package dev.berth.cli.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** A file of settings. The dots of a name are levels: {@code limits.memory} is {@code memory} below {@code limits}. */
final class YamlFile {
    /** A value as it stands in the file. */
    record Entry(String text, String where) {}

    private final Path file;
    private final Problems problems;
    private final Map<String, Entry> entries = new HashMap<>();

    private YamlFile(Path file, Problems problems) {
        this.file = file;
        this.problems = problems;
    }

    /** Its values by the names of settings; what is wrong with the file becomes a problem. */
    static Map<String, Entry> read(Path file, Problems problems) {
        YamlFile yaml = new YamlFile(file, problems);
        try (JsonParser parser = YAMLMapper.builder().build().createParser(Files.readString(file))) {
            JsonToken first = parser.nextToken();
            if (first == JsonToken.START_OBJECT) {
                yaml.level("", parser);
            } else if (first != null) {
                problems.add(yaml.where(parser), "this is no setting; write one a line, such as 'port: 8080'");
            }
        } catch (JacksonException e) {
            int line = e.getLocation() == null ? 1 : Math.max(1, e.getLocation().getLineNr());
            // Only the first line: the next ones repeat what stands in the file, perhaps a secret.
            String reason = e.getOriginalMessage().lines().findFirst().orElse("it cannot be read");
            problems.add(file + " line " + line, "this is not YAML: " + reason);
        } catch (NoSuchFileException e) {
            problems.add(file.toString(), "there is no such file");
        } catch (IOException e) {
            problems.add(file.toString(), "it cannot be read: " + e.getMessage());
        }
        return yaml.entries;
    }

    private void level(String prefix, JsonParser parser) {
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = prefix + parser.currentName();
            String where = where(parser);
            JsonToken value = parser.nextToken();
            Setting<?> setting = Settings.BY_NAME.get(name);
            if (setting != null) {
                value(setting, value, where, parser);
            } else if (Settings.BY_NAME.keySet().stream().noneMatch(it -> it.startsWith(name + "."))) {
                problems.unknown(where, name, Settings.BY_NAME.keySet());
                parser.skipChildren();
            } else if (value == JsonToken.START_OBJECT) {
                level(name + ".", parser);
            } else {
                problems.add(where, name + " has no value of its own; below it are " + below(name));
                parser.skipChildren();
            }
        }
    }

    private void value(Setting<?> setting, JsonToken value, String where, JsonParser parser) {
        if (value.isScalarValue() && value != JsonToken.VALUE_NULL) {
            put(setting, parser.getString(), where);
        } else if (value == JsonToken.VALUE_NULL) {
            problems.add(where, setting.name() + " has no value; give it one or remove the line");
        } else if (value == JsonToken.START_OBJECT && setting.type().mapping()) {
            pairs(setting, where, parser);
        } else {
            problems.add(
                    where,
                    setting.name() + " takes one value: " + setting.type().label());
            parser.skipChildren();
        }
    }

    private void pairs(Setting<?> setting, String where, JsonParser parser) {
        List<String> pairs = new ArrayList<>();
        boolean plain = true;
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String key = parser.currentName();
            plain &= parser.nextToken().isScalarValue();
            pairs.add(key + "=" + parser.getString());
            parser.skipChildren();
        }
        if (plain && !pairs.isEmpty()) {
            put(setting, String.join(",", pairs), where);
        } else {
            problems.add(
                    where, setting.name() + " takes pairs: " + setting.type().label());
        }
    }

    private void put(Setting<?> setting, String text, String where) {
        Entry before = entries.putIfAbsent(setting.name(), new Entry(text, where));
        if (before != null) {
            problems.add(where, setting.name() + " was set before, at " + before.where());
        }
    }

    private static String below(String name) {
        return String.join(
                ", ",
                Settings.BY_NAME.keySet().stream()
                        .filter(it -> it.startsWith(name + "."))
                        .toList());
    }

    private String where(JsonParser parser) {
        return file + " line " + parser.currentTokenLocation().getLineNr();
    }
}
