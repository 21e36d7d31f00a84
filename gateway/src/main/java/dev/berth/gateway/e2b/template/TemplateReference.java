package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.E2bError;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a client writes to mean a template: {@code namespace/alias:tag}, of which the alias, or an id, is enough. The
 * namespace is the tenant.
 */
record TemplateReference(Optional<String> namespace, String name, Optional<String> tag) {
    static final String DEFAULT_TAG = "default";

    private static final Pattern FORM = Pattern.compile(
            "(?:([A-Za-z0-9][A-Za-z0-9._-]{0,127})/)?([a-z0-9][a-z0-9_.-]{0,127})(?::([a-z0-9][a-z0-9_.-]{0,127}))?");
    private static final Pattern TAG = Pattern.compile("[a-z0-9][a-z0-9_.-]{0,127}");

    static TemplateReference parse(String text) {
        String clean = text.strip();
        int slash = clean.indexOf('/');
        String lower =
                clean.substring(0, slash + 1) + clean.substring(slash + 1).toLowerCase(Locale.ROOT);
        Matcher matcher = FORM.matcher(lower);
        if (!matcher.matches()) {
            throw new E2bError(
                    400,
                    "invalid template name: write letters, digits, '-', '_' and '.', with a tag after a colon if one is"
                            + " meant");
        }
        return new TemplateReference(
                Optional.ofNullable(matcher.group(1)), matcher.group(2), Optional.ofNullable(matcher.group(3)));
    }

    static String tag(String text) {
        String lower = text.strip().toLowerCase(Locale.ROOT);
        if (!TAG.matcher(lower).matches()) {
            throw new E2bError(400, "invalid tag: write letters, digits, '-', '_' and '.'");
        }
        return lower;
    }

    /** Whether it may be one of the tenant's own. */
    boolean within(String tenant) {
        return namespace.isEmpty() || namespace.get().equals(tenant);
    }
}
