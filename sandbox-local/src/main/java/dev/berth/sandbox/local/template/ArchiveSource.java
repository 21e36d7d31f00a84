package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.List;

/**
 * What of an archive a copy takes. Whoever packed it has looked after wildcards, so of a path with some, what it has
 * before them is the directory whose content is meant.
 */
final class ArchiveSource {
    private ArchiveSource() {}

    /** The path inside the archive, clean and without wildcards; empty for all of it. */
    static String of(String where, String source) {
        List<String> names = new ArrayList<>();
        for (String name : source.split("/")) {
            if (name.equals("..") && !names.isEmpty()) {
                names.removeLast();
            } else if (name.equals("..") || source.startsWith("/")) {
                throw SandboxException.invalid(
                        where + ": '" + source + "' leads out of what was packed; write a path below it");
            } else if (name.chars().anyMatch(c -> "*?[{".indexOf(c) >= 0)) {
                break;
            } else if (!name.isEmpty() && !name.equals(".")) {
                names.add(name);
            }
        }
        return String.join("/", names);
    }
}
