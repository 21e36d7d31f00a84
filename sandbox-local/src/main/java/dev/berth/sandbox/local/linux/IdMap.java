package dev.berth.sandbox.local.linux;

/**
 * How user and group ids of a sandbox look on the host: shifted by a base, so that root inside is nobody outside.
 *
 * <p>The base lies at the end of the range that systemd sets aside for containers, away from people's accounts. All
 * sandboxes share it, because they share the files of a template; what separates them are namespaces.
 */
public final class IdMap {
    public static final int BASE = 1_795_162_112;
    public static final int SIZE = 65_536;
    /** What an id from outside the range shows as, inside: overflowuid. */
    private static final int NOBODY = 65_534;

    private IdMap() {}

    public static int toHost(int inside) {
        if (inside < 0 || inside >= SIZE) {
            throw new IllegalArgumentException("no such id in a sandbox: " + inside);
        }
        return BASE + inside;
    }

    public static int toSandbox(int host) {
        return host >= BASE && host < BASE + SIZE ? host - BASE : NOBODY;
    }
}
