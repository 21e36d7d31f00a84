package dev.berth.sandbox;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * What a sandbox may reach, and how much of it. Whatever the mode, it never reaches the machine it runs on, its
 * neighbours or a private network, unless a rule names their addresses.
 *
 * @param allow what may be reached; in an open network only ranges of addresses that would otherwise be closed
 * @param deny ranges of addresses that are closed even if a name that may be reached leads there; a range that a rule allows
 *     is open all the same
 * @param secrets names of those that may be put into its requests on the way out; each also lets it reach the hosts that
 *     it is bound to
 */
public record Network(Mode mode, List<Rule> allow, List<String> deny, List<String> secrets, Caps caps) {

    /** From the closed to the open. */
    public enum Mode {
        /** Nothing but its own loopback. */
        NONE,
        /** What the rules allow, through a proxy; there is no other way out. */
        RESTRICTED,
        /** Everything public, also for programs that know no proxy. */
        OPEN;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * One thing that may be reached. What has methods or paths is allowed for HTTP requests that match both, and the
     * proxy opens TLS to see them.
     *
     * @param to a domain, all names below one ({@code *.example.com}), an address, or a range of them
     * @param ports empty for 80 and 443; for addresses, 0 alone is every port
     * @param methods empty for all
     * @param paths empty for all; {@code /v1/models} is that path alone, {@code /v1/*} everything that begins with it
     */
    public record Rule(String to, List<Integer> ports, List<String> methods, List<String> paths) {
        private static final Pattern METHOD = Pattern.compile("[A-Z][A-Z-]{0,31}");
        private static final Pattern PATH = Pattern.compile("/[!-)+-~]*\\*?");
        private static final List<Integer> USUAL_PORTS = List.of(80, 443);
        private static final List<Integer> EVERY_PORT = List.of(0);

        public Rule {
            Problems problems = new Problems();
            boolean every = false;
            try {
                Destination destination = Destination.parse(to);
                to = destination.toString();
                every = destination instanceof Destination.Cidr && ports.equals(EVERY_PORT);
                problems.check(
                        destination instanceof Destination.Domain || (methods.isEmpty() && paths.isEmpty()),
                        "to: methods and paths can be said of domains only, not of " + to);
            } catch (SandboxException e) {
                problems.add("to: " + e.getMessage());
            }
            for (int port : every ? List.<Integer>of() : ports) {
                problems.check(port >= 1 && port <= 65_535, "ports: a port is a number from 1 to 65535, not " + port);
            }
            for (String method : methods) {
                problems.check(
                        METHOD.matcher(method).matches(), "methods: '" + method + "' is not a method, such as GET");
            }
            for (String path : paths) {
                problems.check(
                        PATH.matcher(path).matches() && path.length() <= 1024,
                        "paths: '" + path + "' is not a path, such as /v1/models or /v1/*");
            }
            problems.refuse();
            ports = ports.isEmpty() ? USUAL_PORTS : ports.stream().distinct().toList();
            methods = methods.stream().distinct().toList();
            paths = paths.stream().distinct().toList();
        }

        public static Rule to(String destination) {
            return new Rule(destination, List.of(), List.of(), List.of());
        }

        public Destination destination() {
            return Destination.parse(to);
        }

        public Rule withPorts(Integer... allowed) {
            return new Rule(to, List.of(allowed), methods, paths);
        }

        public Rule withEveryPort() {
            return new Rule(to, EVERY_PORT, methods, paths);
        }

        public boolean everyPort() {
            return ports.equals(EVERY_PORT);
        }

        public boolean opens(int port) {
            return everyPort() || ports.contains(port);
        }

        public Rule withMethods(String... allowed) {
            return new Rule(to, ports, List.of(allowed), paths);
        }

        public Rule withPaths(String... allowed) {
            return new Rule(to, ports, methods, List.of(allowed));
        }

        /** Whether each request has to be looked at. */
        public boolean looksInside() {
            return !methods.isEmpty() || !paths.isEmpty();
        }

        public boolean allows(String method, String path) {
            return (methods.isEmpty() || methods.contains(method))
                    && (paths.isEmpty() || paths.stream().anyMatch(pattern -> matches(pattern, path)));
        }

        private static boolean matches(String pattern, String path) {
            return pattern.endsWith("*")
                    ? path.startsWith(pattern.substring(0, pattern.length() - 1))
                    : path.equals(pattern);
        }

        /** Whether the other's ports, methods and paths are among those of this one. */
        private boolean contains(Rule other) {
            return (everyPort() || ports.containsAll(other.ports))
                    && (methods.isEmpty() || (!other.methods.isEmpty() && methods.containsAll(other.methods)))
                    && (paths.isEmpty()
                            || (!other.paths.isEmpty()
                                    && other.paths.stream()
                                            .allMatch(path -> paths.contains(path)
                                                    || paths.stream().anyMatch(mine -> matches(mine, path)))));
        }

        private static boolean contains(Destination one, Destination other) {
            return switch (one) {
                case Destination.Domain mine ->
                    other instanceof Destination.Domain theirs
                            && (mine.equals(theirs) || mine.covers(theirs) || belowToo(mine, theirs));
                case Destination.Cidr mine -> other instanceof Destination.Cidr theirs && mine.contains(theirs);
            };
        }

        private static boolean belowToo(Destination.Domain mine, Destination.Domain theirs) {
            return mine.below() && theirs.below() && theirs.name().endsWith("." + mine.name());
        }

        @Override
        public String toString() {
            return to;
        }
    }

    /**
     * What goes through, at most. 0 is no ceiling.
     *
     * @param connections open at a time
     * @param bytes of both directions, since the session began
     * @param bytesPerSecond of both directions
     */
    public record Caps(int connections, long bytes, long bytesPerSecond) {
        public static final Caps DEFAULT = new Caps(256, 0, 0);

        public Caps {
            Problems problems = new Problems();
            problems.check(connections >= 0, "connections: has to be 0 (no ceiling) or more");
            problems.check(bytes >= 0, "bytes: has to be 0 (no ceiling) or more");
            problems.check(
                    bytesPerSecond == 0 || bytesPerSecond >= 1024,
                    "bytesPerSecond: has to be 0 (no ceiling) or at least 1024");
            problems.refuse();
        }
    }

    public static final Network NONE = new Network(Mode.NONE, List.of(), List.of(), Caps.DEFAULT);
    public static final Network OPEN = new Network(Mode.OPEN, List.of(), List.of(), Caps.DEFAULT);

    private static final int MOST_RULES = 256;

    public Network {
        allow = List.copyOf(allow);
        // What was written down before there was such a list has none.
        List<String> denied = Objects.requireNonNullElse(deny, List.of());
        secrets = secrets.stream().distinct().toList();
        Problems problems = new Problems();
        problems.check(
                mode != Mode.NONE || (allow.isEmpty() && secrets.isEmpty()),
                "mode: a network of mode none allows nothing; set the mode to restricted");
        problems.check(
                mode != Mode.NONE || denied.isEmpty(),
                "deny: a network of mode none reaches nothing that could be denied");
        problems.check(
                denied.size() <= MOST_RULES, "deny: a network has at most " + MOST_RULES + " ranges that it denies");
        deny = ranges(denied, problems);
        if (allow.size() > MOST_RULES) {
            problems.add("allow: a network has at most " + MOST_RULES + " rules");
        } else {
            compare(mode, allow, problems);
        }
        problems.refuse();
    }

    private static List<String> ranges(List<String> denied, Problems problems) {
        List<String> ranges = new ArrayList<>();
        for (int i = 0; i < denied.size(); i++) {
            try {
                Destination range = Destination.parse(denied.get(i));
                problems.check(
                        range instanceof Destination.Cidr,
                        "deny[" + i + "]: " + range + " is a name; only addresses and ranges of them can be denied");
                ranges.add(range.toString());
            } catch (SandboxException e) {
                problems.add("deny[" + i + "]: " + e.getMessage());
            }
        }
        return ranges.stream().distinct().toList();
    }

    private static void compare(Mode mode, List<Rule> allow, Problems problems) {
        List<Destination> to = allow.stream().map(Rule::destination).toList();
        for (int i = 0; i < allow.size(); i++) {
            Rule rule = allow.get(i);
            problems.check(
                    mode != Mode.OPEN || to.get(i) instanceof Destination.Cidr,
                    "allow[" + i + "]: an open network reaches " + rule
                            + " anyway; to reach nothing else set the mode to restricted");
            for (int j = 0; j < allow.size(); j++) {
                if (i != j && contains(allow, to, j, i) && !(j > i && contains(allow, to, i, j))) {
                    // Of two that are the same, only the second is told of.
                    problems.add("allow[" + i + "]: " + rule + " is allowed by allow[" + j + "] (" + allow.get(j)
                            + ") already; remove one of them");
                }
            }
        }
    }

    /** Whether all that one rule allows is allowed by another one already. */
    private static boolean contains(List<Rule> allow, List<Destination> to, int one, int other) {
        return Rule.contains(to.get(one), to.get(other)) && allow.get(one).contains(allow.get(other));
    }

    public Network(Mode mode, List<Rule> allow, List<String> secrets, Caps caps) {
        this(mode, allow, List.of(), secrets, caps);
    }

    public static Network restricted(Rule... rules) {
        return new Network(Mode.RESTRICTED, List.of(rules), List.of(), Caps.DEFAULT);
    }

    public Network withSecrets(List<String> names) {
        return new Network(mode, allow, deny, names, caps);
    }

    public Network withCaps(Caps most) {
        return new Network(mode, allow, deny, secrets, most);
    }

    public Network withDeny(String... ranges) {
        return new Network(mode, allow, List.of(ranges), secrets, caps);
    }

    /** What is denied, read. */
    public List<Destination.Cidr> denied() {
        return deny.stream()
                .map(Destination::parse)
                .filter(Destination.Cidr.class::isInstance)
                .map(Destination.Cidr.class::cast)
                .toList();
    }

    /** Everything that is wrong is told at once, each with its place. */
    private static final class Problems {
        private final List<String> all = new ArrayList<>();

        void add(String problem) {
            all.add(problem);
        }

        void check(boolean holds, String problem) {
            if (!holds) {
                all.add(problem);
            }
        }

        void refuse() {
            if (!all.isEmpty()) {
                throw SandboxException.invalid(String.join("; ", all)).with(SandboxException.ERRORS, List.copyOf(all));
            }
        }
    }
}
