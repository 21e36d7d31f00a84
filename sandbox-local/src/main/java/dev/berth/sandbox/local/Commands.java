package dev.berth.sandbox.local;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.Accounts;
import dev.berth.sandbox.local.files.Accounts.Account;
import dev.berth.sandbox.local.guest.Start;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.template.Template;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Resolves what a command leaves open: who runs it, where, and with which environment.
 *
 * <p>Names are looked up in the sandbox's own account files, as they are now. Those are the sandbox's to change, and
 * that is fine: whatever id they give, it is one of the sandbox's ids.
 */
final class Commands {
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private final Template template;
    private final Accounts accounts;

    Commands(Template template, Supplier<Path> root) {
        this.template = template;
        this.accounts = new Accounts(root);
    }

    /** Looks up who will most likely run the first command. */
    void prepare() {
        var _ = accounts.find(template.user());
    }

    Start resolve(Command command, BoxRecord sandbox) {
        String user = command.user().orElse(template.user());
        Account account = account(user);
        String cwd = command.cwd().orElse(user.equals(template.user()) ? template.workdir() : account.home());
        return new Start(
                command.argv(),
                environment(command, sandbox, account),
                cwd,
                account.uid(),
                account.gid(),
                account.groups(),
                command.terminal(),
                command.stdinOpen(),
                command.whenFull() == Command.WhenFull.BLOCK,
                !template.sudo(),
                sandbox.limits().outputBytes(),
                command.timeout(),
                command.tag());
    }

    Accounts accounts() {
        return accounts;
    }

    /** For those who are no command. @throws SandboxException {@code invalid} if there is no such user */
    dev.berth.sandbox.Account known(String user) {
        Command.checkUser(user);
        // Numbers too: whoever has them may have a name and a home.
        Account account = accounts.find(user)
                .or(() -> numbered(user))
                .orElseThrow(() ->
                        SandboxException.invalid("the sandbox has no user '" + user + "'; make one, or name another"));
        return new dev.berth.sandbox.Account(account.name(), account.uid(), account.gid(), account.home());
    }

    private Account account(String user) {
        return numbered(user)
                .or(() -> accounts.find(user))
                .orElseThrow(() -> SandboxException.notFound("the sandbox has no user '" + user + "'"));
    }

    private static Optional<Account> numbered(String user) {
        if (!Character.isDigit(user.charAt(0))) {
            return Optional.empty();
        }
        int colon = user.indexOf(':');
        int uid = id(colon < 0 ? user : user.substring(0, colon));
        int gid = colon < 0 ? uid : id(user.substring(colon + 1));
        return Optional.of(new Account(user, uid, gid, "/", "/bin/sh", List.of()));
    }

    private static int id(String digits) {
        int id = Integer.parseInt(digits);
        if (id >= IdMap.SIZE) {
            throw SandboxException.invalid("user and group ids of a sandbox are 0 to " + (IdMap.SIZE - 1));
        }
        return id;
    }

    private List<String> environment(Command command, BoxRecord sandbox, Account account) {
        Map<String, String> env = new TreeMap<>();
        env.put("PATH", PATH);
        env.put("HOME", account.home());
        env.put("USER", account.name());
        env.put("LOGNAME", account.name());
        env.put("SHELL", account.shell());
        env.put("LANG", "C.UTF-8");
        if (command.terminal().isPresent()) {
            env.put("TERM", "xterm-256color");
        }
        env.putAll(template.env());
        env.putAll(sandbox.env());
        env.putAll(command.env());
        return env.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .toList();
    }
}
