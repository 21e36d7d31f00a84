package dev.berth.gateway.e2b;

import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.SandboxException;
import java.net.InetAddress;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names, addresses and ranges of them, as E2B's API takes them. */
final class Addresses {
    private static final String ALL_TRAFFIC = "ALL_TRAFFIC";
    private static final Pattern RANGE = Pattern.compile("([0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)/([0-9]{1,3})");
    private static final Pattern WITH_PORT = Pattern.compile("[^:]+:[0-9]+");

    private Addresses() {}

    static Destination read(String list, String text) {
        if (text.equals(ALL_TRAFFIC)) {
            return Destination.parse("0.0.0.0/0");
        }
        if (WITH_PORT.matcher(text).matches()) {
            throw new E2bError(
                    400,
                    "invalid " + list + " entry \"" + text + "\": port-specific rules are not supported for egress");
        }
        Matcher range = RANGE.matcher(text);
        try {
            return range.matches()
                    // E2B takes a range by any address in it.
                    ? Cidr.around(InetAddress.ofLiteral(range.group(1)), Integer.parseInt(range.group(2)))
                    : Destination.parse(text.toLowerCase(Locale.ROOT));
        } catch (SandboxException | IllegalArgumentException e) {
            throw new E2bError(400, "invalid " + list + " entry \"" + text + "\": " + e.getMessage());
        }
    }

    /** Whether everything that one stands for is taken in by another. */
    static boolean covers(Destination one, Destination other) {
        return switch (one) {
            case Domain mine ->
                other instanceof Domain theirs
                        && (mine.equals(theirs)
                                || mine.covers(theirs)
                                || (mine.below()
                                        && theirs.below()
                                        && theirs.name().endsWith("." + mine.name())));
            case Cidr mine -> other instanceof Cidr theirs && mine.contains(theirs);
        };
    }
}
