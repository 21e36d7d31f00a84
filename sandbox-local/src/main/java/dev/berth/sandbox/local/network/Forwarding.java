package dev.berth.sandbox.local.network;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Whether the machine passes packets on from one interface to another, see {@code forwarding} in the kernel's
 * ip-sysctl.
 *
 * <p>A machine that is a router already is left as it is. On another one only single interfaces are told to pass packets
 * on, so that its {@code ip_forward} stays 0, and the rules see to it that nothing passes there but what is from or for a
 * sandbox. That makes it possible to tell, with no memory of it, which interfaces have to be guarded: all that forward
 * while the machine as a whole does not.
 */
final class Forwarding {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._:@-]+");

    private final Path settings;

    /** @param settings where the kernel has them, {@code /proc/sys/net/ipv4} */
    Forwarding(Path settings) {
        this.settings = settings;
    }

    /** The interfaces that have to pass packets on for sandboxes, and would do so for nobody else. */
    List<String> lent() throws IOException {
        return isRouter() ? List.of() : others();
    }

    void lend(List<String> interfaces) throws IOException {
        for (String name : interfaces) {
            set(name, "forwarding", "1");
        }
    }

    /** Undoes it when no sandbox of any data directory is left. */
    void takeBack() throws IOException {
        if (isRouter() || names().stream().anyMatch(name -> name.startsWith(Links.PREFIX))) {
            return;
        }
        for (String name : others()) {
            set(name, "forwarding", "0");
        }
    }

    /** What the machine's end of a sandbox's interface is like. */
    void prepare(String link, boolean resolverIsHere) throws IOException {
        set(link, "forwarding", "1");
        set(link, "rp_filter", "1");
        set(link, "send_redirects", "0");
        set(link, "accept_redirects", "0");
        set(link, "route_localnet", resolverIsHere ? "1" : "0");
    }

    private boolean isRouter() throws IOException {
        return "1".equals(Files.readAllLines(settings.resolve("ip_forward")).getFirst());
    }

    private List<String> others() throws IOException {
        return names().stream()
                .filter(name -> !List.of("all", "default", "lo").contains(name)
                        && !name.startsWith(Links.PREFIX)
                        && PLAIN.matcher(name).matches())
                .toList();
    }

    private List<String> names() throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(settings.resolve("conf"))) {
            all.forEach(one -> names.add(one.getFileName().toString()));
        }
        return names;
    }

    private void set(String name, String setting, String value) throws IOException {
        Path file = settings.resolve("conf").resolve(name).resolve(setting);
        try {
            if (!value.equals(Files.readAllLines(file).getFirst())) {
                Files.writeString(file, value);
            }
        } catch (NoSuchFileException e) {
            // Interfaces come and go; one that went has nothing to pass on.
        }
    }
}
