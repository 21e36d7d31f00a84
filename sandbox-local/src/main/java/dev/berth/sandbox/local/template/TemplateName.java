package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a person writes to mean a template: {@code base} (its newest version) or {@code base:3}. */
public record TemplateName(String name, OptionalInt version) {
    private static final Pattern FORM = Pattern.compile("([a-z0-9][a-z0-9._-]{0,62})(?::([1-9][0-9]{0,8}))?");

    public static TemplateName parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            throw SandboxException.invalid("'" + shortened(text)
                    + "' is not the name of a template; write name or name:version, like base or base:1, with the name in"
                    + " lower case letters, digits, '-', '_' and '.' (at most 63)");
        }
        String version = matcher.group(2);
        return new TemplateName(
                matcher.group(1), version == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(version)));
    }

    @Override
    public String toString() {
        return version.isPresent() ? name + ":" + version.getAsInt() : name;
    }

    private static String shortened(String text) {
        String printable = text.replaceAll("\\p{Cntrl}", "?");
        return printable.length() <= 80 ? printable : printable.substring(0, 80) + "…";
    }
}
