package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.E2bError;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** How the content of files is encoded on the way: as it is, or by gzip. */
final class Encodings {
    private static final String GZIP = "gzip";
    private static final String IDENTITY = "identity";

    private record Wish(String coding, double quality) {}

    private Encodings() {}

    /**
     * Whether an answer is to be compressed, by an {@code Accept-Encoding} as RFC 9110 has it.
     *
     * @throws E2bError 406 if it leaves nothing
     */
    static boolean gzipWanted(Optional<String> header) {
        List<Wish> wishes = new ArrayList<>();
        for (String part : header.orElse("").split(",")) {
            if (!part.isBlank()) {
                wishes.add(wish(part));
            }
        }
        boolean plainRefused = wishes.stream().anyMatch(wish -> wish.coding().equals(IDENTITY) && wish.quality() == 0);
        wishes.sort(Comparator.comparingDouble(Wish::quality).reversed());
        for (Wish wish : wishes) {
            if (wish.quality() == 0) {
                continue;
            }
            switch (wish.coding()) {
                case GZIP -> {
                    return true;
                }
                case IDENTITY -> {
                    return false;
                }
                case "*" -> {
                    return plainRefused;
                }
                default -> {}
            }
        }
        if (plainRefused) {
            throw new E2bError(406, "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]");
        }
        return false;
    }

    private static Wish wish(String part) {
        String[] pieces = part.split(";");
        double quality = 1;
        for (int i = 1; i < pieces.length; i++) {
            String parameter = pieces[i].strip().toLowerCase(Locale.ROOT);
            if (parameter.matches("q=[01](\\.[0-9]{0,3})?")) {
                quality = Double.parseDouble(parameter.substring(2));
            }
        }
        return new Wish(pieces[0].strip().toLowerCase(Locale.ROOT), quality);
    }

    /** @throws E2bError 400 if a body is encoded in another way than these */
    static boolean gzipped(Optional<String> contentEncoding) {
        String coding = contentEncoding.map(text -> wish(text).coding()).orElse("");
        return switch (coding) {
            case "", IDENTITY -> false;
            case GZIP -> true;
            default ->
                throw new E2bError(
                        400,
                        "error decompressing request body: unsupported Content-Encoding: " + coding
                                + ", supported: [gzip]");
        };
    }
}
