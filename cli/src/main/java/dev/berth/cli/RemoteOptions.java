package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.UsageException;
import dev.berth.client.BerthClient;
import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Which server is called, and as whom: by option, else by environment, else the one that {@code berth up} starts here. */
final class RemoteOptions {
    static final Option<String> URL =
            Option.of("--url", "URL", "The server (BERTH_URL; default: the one on this machine).");
    static final Option<String> KEY = Option.of(
            "--key",
            "KEY",
            "A tenant's or the operator's (BERTH_API_KEY; default: that of the server on this machine).");
    static final Option<String> TENANT = Option.of("--tenant", "ID", "Whose, with the operator's key.");
    static final Option<Boolean> JSON = Option.flag("--json", "Print the server's JSON.");
    static final Option<Path> DATA =
            Option.of("--data", "DIR", "Where a server on this machine keeps its key (BERTH_DATA).", Path::of);

    private static final String STANDARD = "http://127.0.0.1:8080";
    private static final Set<String> HERE = Set.of("127.0.0.1", "localhost", "[::1]");

    private RemoteOptions() {}

    /** A command's own options, and these. */
    static List<Option<?>> with(List<Option<?>> own) {
        List<Option<?>> all = new ArrayList<>(own);
        all.addAll(List.of(JSON, URL, KEY, TENANT, DATA));
        return all;
    }

    static BerthClient connect(Arguments arguments, Map<String, String> env) {
        Path data = LocalOptions.data(arguments.get(DATA), env);
        String url = arguments.get(URL).or(() -> setting(env, "BERTH_URL")).orElseGet(() -> keptUrl(data));
        Optional<String> tenant = arguments.get(TENANT);
        String key = arguments
                .get(KEY)
                .or(() -> setting(env, "BERTH_API_KEY"))
                .orElseGet(() -> keptKey(url, tenant.isPresent(), data));
        try {
            BerthClient client = BerthClient.connect(url, key);
            return tenant.map(client::forTenant).orElse(client);
        } catch (IllegalArgumentException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    /** Where the server of this data directory was started last. */
    private static String keptUrl(Path data) {
        try {
            return KeyFiles.at(data.resolve("keys")).read(KeyFiles.URL).orElse(STANDARD);
        } catch (SandboxException e) {
            return STANDARD; // it is not for this user to read; the key will have to be given too
        }
    }

    /** Only for a server on this machine: another one has no business knowing it. */
    private static String keptKey(String url, boolean operator, Path data) {
        if (!isHere(url)) {
            throw SandboxException.denied("there is no key for " + url + "; set BERTH_API_KEY, or give --key");
        }
        KeyFiles files = KeyFiles.at(data.resolve("keys"));
        String name = operator ? KeyFiles.ADMIN : KeyFiles.API;
        Optional<String> kept;
        try {
            kept = files.read(name);
        } catch (SandboxException e) {
            throw SandboxException.denied(
                    e.getMessage() + "; set BERTH_API_KEY, or run this as the user who runs 'berth up'");
        }
        return kept.orElseThrow(() -> SandboxException.denied(
                "there is no key in " + files.file(name) + "; start a server with 'berth up', or set BERTH_API_KEY"));
    }

    private static boolean isHere(String url) {
        try {
            String host = URI.create(url).getHost();
            if (host != null) {
                return HERE.contains(host);
            }
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw new UsageException("'" + url + "' is not the URL of a server, such as http://127.0.0.1:8080");
    }

    private static Optional<String> setting(Map<String, String> env, String name) {
        return Optional.ofNullable(env.get(name)).filter(value -> !value.isEmpty());
    }
}
