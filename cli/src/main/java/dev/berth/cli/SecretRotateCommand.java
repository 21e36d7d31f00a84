package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.BerthClient;
import dev.berth.client.Json;
import dev.berth.sandbox.SandboxException;
import java.util.List;

/**
 * {@code berth secret rotate}. Whenever it is ended, the file has every key that something is still sealed with: the new
 * one is there before it is used, and the old ones until they are needed no more.
 */
final class SecretRotateCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "secret rotate",
                "Seal everything in the database of this machine's server with a new key.",
                List.of("[OPTION…]"),
                Operands.NONE,
                List.of(RemoteOptions.DATA, RemoteOptions.JSON),
                List.of(
                        "The server has to be running, and to be the only one on its database; docs/secrets.md says what to do",
                        "with several. A backup of the database from before can only be read with the old key.",
                        "",
                        "Examples:",
                        "  berth secret rotate",
                        "  berth secret rotate --data /srv/berth"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        KeyFiles files = KeyFiles.at(LocalOptions.data(arguments.get(RemoteOptions.DATA), console.env())
                .resolve("keys"));
        String url = needed(files, KeyFiles.URL);
        try (BerthClient berth = BerthClient.connect(url, needed(files, KeyFiles.ADMIN))) {
            berth.admin().tenants(); // or a server that is not there would leave a new key behind
            SealingKeys keys = SealingKeys.kept(files);
            keys.add();
            Json done = berth.admin().reseal();
            long unopened = done.get("unopened").whole();
            if (unopened == 0) {
                keys.dropOlder();
            }
            if (arguments.has(RemoteOptions.JSON)) {
                console.out().println(done);
            } else {
                console.out().println("sealed anew: " + done.get("resealed").whole());
            }
            if (unopened > 0) {
                throw SandboxException.unavailable(unopened
                        + " values are opened by no key there is, so the older keys stay in "
                        + files.file(KeyFiles.SEALING) + "; put back the key that is missing, and rotate again");
            }
            return 0;
        }
    }

    private static String needed(KeyFiles files, String name) {
        return files.read(name)
                .orElseThrow(
                        () -> SandboxException.notFound(
                                "there is no " + files.file(name)
                                        + "; this is for a server on this machine, started by 'berth up'; name its directory by --data"));
    }
}
