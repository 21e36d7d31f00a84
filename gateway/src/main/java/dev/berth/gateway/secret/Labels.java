package dev.berth.gateway.secret;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Names of secrets for labels that may have any letters. */
final class Labels {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,63}");
    private static final int MOST_KEPT = 40;
    private static final int MOST_IN_VARIABLE = 50;

    private Labels() {}

    /** The label itself where it can be a name; otherwise one that begins like it, and like no other one. */
    static String name(String label) {
        if (NAME.matcher(label).matches()) {
            return label;
        }
        String plain = label.replaceAll("[^A-Za-z0-9_]", "_");
        String begin = (plain.matches("[0-9].*") ? "_" : "") + plain.substring(0, Math.min(MOST_KEPT, plain.length()));
        return begin + "_" + HexFormat.of().formatHex(digest(label), 0, 8);
    }

    /** A variable that is nobody else's; it is of use only if the secret is bound to hosts. */
    static String env(String name) {
        return "E2B_" + name.substring(0, Math.min(MOST_IN_VARIABLE, name.length())) + "_KEY";
    }

    private static byte[] digest(String label) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(label.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
