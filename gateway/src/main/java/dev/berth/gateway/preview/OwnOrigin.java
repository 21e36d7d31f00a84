package dev.berth.gateway.preview;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A port with a name of its own, {@code 8080-ixyz.domain}. Whatever is sent there is meant for what listens on it, with
 * its credentials and cookies, and browsers keep it apart from everything else by its name.
 *
 * @param host as the client wrote it, or as what listens is to see it
 * @param withheld headers that are for this server alone
 */
public record OwnOrigin(String host, Set<String> withheld) implements Origin {
    /**
     * The first are made by this server. The last would also clear what a browser has of other names of the domain, as
     * cookies belong to all of it.
     */
    private static final Set<String> NOT_OUT = Origin.names("Content-Length", "Date", "Clear-Site-Data");

    public OwnOrigin {
        withheld = Origin.names(withheld.toArray(String[]::new));
    }

    @Override
    public boolean mayGoIn(String name) {
        return !withheld.contains(name);
    }

    @Override
    public boolean mayGoOut(String name) {
        return !NOT_OUT.contains(name);
    }

    @Override
    public Map<String, String> toldInside() {
        return Map.of();
    }

    @Override
    public Optional<String> cookiesIn(List<String> cookies) {
        return cookies.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", cookies));
    }

    @Override
    public String cookieOut(String cookie) {
        return cookie;
    }

    @Override
    public String location(String location) {
        return location;
    }

    @Override
    public Map<String, String> toldOutside() {
        return Map.of();
    }
}
