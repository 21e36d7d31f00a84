package dev.berth.channel.slack;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What somebody wrote, without the marks Slack puts around people, channels and links. */
final class Spoken {
    private static final Pattern MARK = Pattern.compile("<([^<>|]*)(?:\\|([^<>]*))?>");

    private final People people;
    private final Workspace workspace;

    Spoken(People people, Workspace workspace) {
        this.people = people;
        this.workspace = workspace;
    }

    String read(String text) throws InterruptedException {
        StringBuilder out = new StringBuilder();
        Matcher mark = MARK.matcher(text);
        int from = 0;
        while (mark.find()) {
            out.append(text, from, mark.start());
            out.append(said(mark.group(1), mark.group(2) == null ? "" : mark.group(2)));
            from = mark.end();
        }
        out.append(text, from, text.length());
        return out.toString()
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&")
                .strip();
    }

    private String said(String what, String label) throws InterruptedException {
        if (what.startsWith("@")) {
            String user = what.substring(1);
            if (user.equals(workspace.botUser())) {
                return "";
            }
            return "@" + (label.isEmpty() ? people.name(workspace, user) : label);
        }
        if (what.startsWith("#")) {
            return "#" + (label.isEmpty() ? what.substring(1) : label);
        }
        if (what.startsWith("!")) {
            String name = label.isEmpty() ? what.substring(1).split("\\^")[0] : label;
            return name.startsWith("@") ? name : "@" + name;
        }
        String address = what.startsWith("mailto:") ? what.substring("mailto:".length()) : what;
        return label.isEmpty() || label.equals(address) || what.endsWith("://" + label)
                ? address
                : label + " (" + address + ")";
    }
}
