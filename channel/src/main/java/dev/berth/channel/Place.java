package dev.berth.channel;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A conversation in a channel: a thread, or somebody's direct messages.
 *
 * @param channel the name of the channel, such as {@code slack}
 * @param workspace whose it is, as the service has it: a team, an installation
 * @param room where the conversation is: a channel of a workspace, a direct message
 * @param thread which of its conversations; empty if it has one only
 */
public record Place(String channel, String workspace, String room, String thread) {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._@+=-]+");
    private static final int LONGEST = 160;
    private static final int SLUG = 60;
    private static final int HASH = 32;

    /** By which its session is found, now and in a year. No two places have the same. */
    public String session() {
        List<String> parts = Stream.of(channel, workspace, room, thread)
                .filter(part -> !part.isEmpty())
                .toList();
        String joined = String.join(":", parts);
        boolean plain = parts.stream().allMatch(part -> PLAIN.matcher(part).matches())
                && !workspace.isEmpty()
                && !room.isEmpty();
        if (plain && joined.length() <= LONGEST && Character.isLetterOrDigit(joined.charAt(0))) {
            return joined;
        }
        String slug = joined.replaceAll("[^A-Za-z0-9._:@+=-]+", "-").replaceAll("^[^A-Za-z0-9]+", "");
        // A '~' is in no plain one.
        return (slug.isEmpty() ? "place" : slug.substring(0, Math.min(SLUG, slug.length()))) + "~" + hash();
    }

    /** Each part with its length, so that it is known where one ends. */
    private String hash() {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (String part : List.of(channel, workspace, room, thread)) {
                byte[] bytes = part.getBytes(UTF_8);
                digest.update((bytes.length + ":").getBytes(UTF_8));
                digest.update(bytes);
            }
            return HexFormat.of().formatHex(digest.digest()).substring(0, HASH);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
