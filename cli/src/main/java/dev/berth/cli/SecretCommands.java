package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.client.Json;
import dev.berth.client.Secret;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** {@code berth secret …}. */
final class SecretCommands {
    private static final Option<Path> FROM_FILE =
            Option.of("--from-file", "FILE", "Read the value from a file (default: standard input).", Path::of);
    private static final Option<Boolean> KEEP_VALUE =
            Option.flag("--keep-value", "Leave the value as it is and change the rest.");
    private static final Option<SecretPreset> FOR = Option.of(
            "--for", "NAME", "Hosts and place of a service: " + SecretPreset.names() + ".", SecretPreset::parse);
    private static final Option<String> HOST =
            Option.of("--host", "HOST", "Where it may go: a domain or *.domain; may be given often.");
    private static final Option<String> HEADER =
            Option.of("--header", "TEXT", "The header it goes into (default 'Authorization: Bearer {}').");
    private static final Option<String> BASIC =
            Option.of("--basic", "USER", "It is the password of this user, as HTTP has it.");
    private static final Option<String> QUERY =
            Option.of("--query", "NAME", "It goes into this parameter of the address.");
    private static final Option<Integer> PORT =
            Option.of("--port", "PORT", "Only these ports; may be given often (default 443).", Option.atLeast(1));
    private static final Option<String> METHOD =
            Option.of("--method", "NAME", "Only for these methods; may be given often.");
    private static final Option<String> PATH =
            Option.of("--path", "PATH", "Only for these paths, such as '/v1/*'; may be given often.");
    private static final Option<Boolean> PLAIN =
            Option.flag("--plain", "Also without TLS, to hosts that the operator allows that for.");
    private static final Option<String> ENV =
            Option.of("--env", "VAR", "The variable in sandboxes that has its placeholder (default: NAME).");
    private static final Option<String> PREFIX =
            Option.of("--prefix", "TEXT", "What the placeholder begins with, such as 'sk-'.");

    private SecretCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "secret set",
                        "Keep a key that sandboxes use and never have, and say where it may go.",
                        "NAME",
                        new Operands(1, Integer.MAX_VALUE, false),
                        List.of(
                                FROM_FILE,
                                KEEP_VALUE,
                                FOR,
                                HOST,
                                HEADER,
                                BASIC,
                                QUERY,
                                PORT,
                                METHOD,
                                PATH,
                                PLAIN,
                                ENV,
                                PREFIX),
                        List.of(
                                "secret set ANTHROPIC_API_KEY --for anthropic",
                                "secret set STRIPE --host api.stripe.com --from-file key.txt",
                                "secret set MAPS --host maps.example.com --query key --path '/v2/*' < key.txt",
                                "secret set STRIPE --keep-value --host api.stripe.com --method GET"),
                        SecretCommands::set),
                RemoteCommand.of(
                        "secret ls",
                        "List the secrets of the tenant, and when they were used last; never their values.",
                        "",
                        Operands.NONE,
                        List.of(),
                        List.of("secret ls", "secret ls --json"),
                        SecretCommands::list),
                RemoteCommand.of(
                        "secret rm",
                        "Remove secrets; the next request that needs one fails.",
                        "NAME…",
                        MANY,
                        List.of(),
                        List.of("secret rm STRIPE"),
                        remote -> remote.each("removed", name -> {
                            remote.berth().secrets().delete(name);
                            return Json.object().with("name", name);
                        })),
                new SecretRotateCommand());
    }

    private static int set(Remote remote) {
        Arguments arguments = remote.arguments();
        String name = remote.operand(0);
        if (arguments.operands().size() > 1 || name.contains("=")) {
            throw new UsageException("a value on a command line can be seen by others on this machine and stays in the"
                    + " shell's history; give it by standard input or --from-file");
        }
        Json change = Json.object().with("env", arguments.get(ENV)).with("prefix", prefix(arguments));
        List<Json> bindings = bindings(arguments);
        if (!bindings.isEmpty()) {
            change = change.with("bindings", bindings);
        }
        if (!arguments.has(KEEP_VALUE)) {
            change = change.with("value", SecretValue.read(name, arguments.get(FROM_FILE), remote.console()));
        } else if (arguments.get(FROM_FILE).isPresent()) {
            throw new UsageException("--keep-value and --from-file do not go together");
        }
        Secret secret = remote.berth().secrets().put(name, change);
        if (remote.json()) {
            remote.print(secret.json());
        } else {
            remote.console().out().println(secret.name());
            if (secret.hosts().isEmpty()) {
                remote.console()
                        .say("it may go nowhere yet; say where with 'berth secret set " + secret.name()
                                + " --keep-value --host HOST'");
            }
        }
        return 0;
    }

    private static Optional<String> prefix(Arguments arguments) {
        return arguments.get(PREFIX).or(() -> arguments.get(FOR).map(SecretPreset::prefix));
    }

    private static List<Json> bindings(Arguments arguments) {
        List<String> hosts = arguments.all(HOST);
        boolean placed = arguments.get(HEADER).isPresent()
                || arguments.get(BASIC).isPresent()
                || arguments.get(QUERY).isPresent();
        Optional<SecretPreset> preset = arguments.get(FOR);
        if (preset.isPresent()) {
            if (placed || !hosts.isEmpty()) {
                throw new UsageException("--for says the hosts and the place already; leave it out to say others");
            }
            return preset.get().bindings().stream()
                    .map(binding -> narrowed(binding, arguments))
                    .toList();
        }
        if (!hosts.isEmpty()) {
            return List.of(narrowed(place(Json.object().with("hosts", hosts), arguments), arguments));
        }
        if (placed
                || !arguments.all(PORT).isEmpty()
                || !arguments.all(METHOD).isEmpty()
                || !arguments.all(PATH).isEmpty()
                || arguments.has(PLAIN)) {
            throw new UsageException("say where it may go, with --host");
        }
        return List.of();
    }

    private static Json place(Json binding, Arguments arguments) {
        Json placed = binding;
        if (arguments.get(HEADER).isPresent()) {
            String[] header = arguments.get(HEADER).get().split(":", 2);
            if (header.length < 2) {
                throw new UsageException("--header is a name and a template, such as 'Authorization: Bearer {}'");
            }
            placed = placed.with(
                    "header", Json.object().with("name", header[0].strip()).with("value", header[1].strip()));
        }
        if (arguments.get(BASIC).isPresent()) {
            placed = placed.with(
                    "basic", Json.object().with("user", arguments.get(BASIC).get()));
        }
        if (arguments.get(QUERY).isPresent()) {
            placed = placed.with(
                    "query", Json.object().with("name", arguments.get(QUERY).get()));
        }
        return placed;
    }

    private static Json narrowed(Json binding, Arguments arguments) {
        Json narrowed = binding.with("methods", arguments.all(METHOD)).with("paths", arguments.all(PATH));
        if (!arguments.all(PORT).isEmpty()) {
            narrowed = narrowed.with("ports", arguments.all(PORT));
        }
        return arguments.has(PLAIN) ? narrowed.with("plain", true) : narrowed;
    }

    private static int list(Remote remote) {
        List<Secret> secrets = remote.berth().secrets().list();
        Instant now = Instant.now();
        Table table = new Table("NAME", "VARIABLE", "HOSTS", "SET", "USES", "USED");
        for (Secret secret : secrets) {
            table.add(
                    secret.name(),
                    secret.env(),
                    secret.hosts().isEmpty() ? "none" : String.join(",", secret.hosts()),
                    Remote.age(secret.updatedAt(), now) + " ago",
                    Long.toString(secret.uses()),
                    secret.lastUsedAt()
                            .map(used -> Remote.age(used, now) + " ago")
                            .orElse("never"));
        }
        remote.show("secrets", secrets.stream().map(Secret::json).toList(), table);
        return 0;
    }
}
