package dev.berth.egress.http;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** How a server may write a value that it was sent, in a header or a body. */
final class Spellings {
    private static final Pattern ESCAPE = Pattern.compile("%[0-9A-F]{2}");

    private Spellings() {}

    static Set<String> of(String value) {
        Set<String> spellings = new LinkedHashSet<>();
        spellings.add(value);
        String form = URLEncoder.encode(value, StandardCharsets.UTF_8);
        for (String escaped : List.of(form, form.replace("+", "%20"))) {
            spellings.add(escaped);
            spellings.add(
                    ESCAPE.matcher(escaped).replaceAll(found -> found.group().toLowerCase(java.util.Locale.ROOT)));
        }
        String quoted = value.replace("\\", "\\\\").replace("\"", "\\\"");
        spellings.add(quoted);
        spellings.add(quoted.replace("/", "\\/"));
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        spellings.add(Base64.getEncoder().withoutPadding().encodeToString(bytes));
        spellings.add(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
        spellings.remove("");
        return spellings;
    }
}
