package dev.berth.sandbox.local.files;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The users of a sandbox, from its {@code /etc/passwd} and {@code /etc/group}.
 *
 * <p>The sandbox may have written anything there. A line that is not as passwd(5) or group(5) say, or has an id that no
 * sandbox has, is passed over, and so is everything after the first megabyte.
 */
public final class Accounts {
    private static final int SIZE_LIMIT = 1 << 20;
    private static final int GROUPS_LIMIT = 256;

    private static final SandboxPath PASSWD = SandboxPath.parse("/etc/passwd", "/");
    private static final SandboxPath GROUP = SandboxPath.parse("/etc/group", "/");
    /** Longer than a tick of the kernel's clock: of two changes in one tick, the second does not show. */
    private static final Duration SETTLED = Duration.ofMillis(100);

    private final Supplier<Path> root;
    private volatile Known known = new Known(List.of(), List.of(), List.of());

    /** What the files said when they were as these say; a change of a file changes its ctime, which nobody can set. */
    private record Known(List<Stat> files, List<Account> accounts, List<Group> groups) {}

    private record Group(String name, int gid, Set<String> members) {}

    /** @param root where the sandbox's root is mounted on the host now; asked for every look-up */
    public Accounts(Supplier<Path> root) {
        this.root = root;
    }

    /**
     * A user, with ids as the sandbox sees them.
     *
     * @param groups the groups beside the first one, in the order of the file
     */
    public record Account(String name, int uid, int gid, String home, String shell, List<Integer> groups) {}

    /** The user of a name, or of a number if there is no such name; the first one, as for getpwnam(3). */
    public Optional<Account> find(String user) {
        Known now = now();
        OptionalInt number = id(user);
        return now.accounts.stream()
                .filter(a -> a.name.equals(user))
                .findFirst()
                .or(() -> now.accounts.stream()
                        .filter(a -> number.isPresent() && a.uid == number.getAsInt())
                        .findFirst())
                .map(account -> withGroups(account, now.groups));
    }

    /** The name of a user id; the first one, as for getpwuid(3). */
    public Optional<String> userName(int uid) {
        return now().accounts.stream()
                .filter(a -> a.uid == uid)
                .map(Account::name)
                .findFirst();
    }

    /** The name of a group id; the first one, as for getgrgid(3). */
    public Optional<String> groupName(int gid) {
        return now().groups.stream().filter(g -> g.gid == gid).map(Group::name).findFirst();
    }

    private Known now() {
        List<Stat> files = stats();
        Known before = known;
        if (!files.isEmpty() && before.files.equals(files)) {
            return before;
        }
        Known read = new Known(
                files,
                lines(PASSWD, 7).flatMap(f -> account(f).stream()).toList(),
                lines(GROUP, 4).flatMap(f -> group(f).stream()).toList());
        Instant settled = Instant.now().minus(SETTLED);
        if (files.stream().allMatch(file -> file.changedAt().isBefore(settled))) {
            known = read;
        }
        return read;
    }

    private static Optional<Account> account(List<String> fields) {
        OptionalInt uid = id(fields.get(2));
        OptionalInt gid = id(fields.get(3));
        if (fields.get(0).isEmpty() || uid.isEmpty() || gid.isEmpty()) {
            return Optional.empty();
        }
        String home = fields.get(5).startsWith("/") ? fields.get(5) : "/";
        String shell = fields.get(6).startsWith("/") ? fields.get(6) : "/bin/sh";
        return Optional.of(new Account(fields.get(0), uid.getAsInt(), gid.getAsInt(), home, shell, List.of()));
    }

    private static Optional<Group> group(List<String> fields) {
        OptionalInt gid = id(fields.get(2));
        return fields.get(0).isEmpty() || gid.isEmpty()
                ? Optional.empty()
                : Optional.of(new Group(
                        fields.get(0),
                        gid.getAsInt(),
                        new HashSet<>(Arrays.asList(fields.get(3).split(",")))));
    }

    private static Account withGroups(Account account, List<Group> all) {
        List<Integer> groups = all.stream()
                .filter(group -> group.members.contains(account.name))
                .map(Group::gid)
                .filter(gid -> gid != account.gid)
                .distinct()
                .limit(GROUPS_LIMIT)
                .toList();
        return new Account(account.name, account.uid, account.gid, account.home, account.shell, groups);
    }

    private static OptionalInt id(String text) {
        if (text.isEmpty() || text.length() > 5 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return OptionalInt.empty();
        }
        int id = Integer.parseInt(text);
        return id < IdMap.SIZE ? OptionalInt.of(id) : OptionalInt.empty();
    }

    /** The files as they are now; one that is not there is left out. */
    private List<Stat> stats() {
        List<Stat> stats = new ArrayList<>();
        try (Resolver resolver = Resolver.open(root)) {
            for (SandboxPath path : List.of(PASSWD, GROUP)) {
                try (Fd file = resolver.find(path)) {
                    stats.add(file.stat());
                } catch (ErrnoException e) {
                    if (e.errno() != ErrnoException.ENOENT && e.errno() != ErrnoException.ENOTDIR) {
                        throw FileErrors.of("read", path, e);
                    }
                }
            }
        }
        return stats;
    }

    private Stream<List<String>> lines(SandboxPath file, int fields) {
        return text(file)
                .lines()
                .filter(line -> line.indexOf('\0') < 0)
                .map(line -> List.of(line.split(":", -1)))
                .filter(f -> f.size() == fields);
    }

    private String text(SandboxPath path) {
        try (Resolver resolver = Resolver.open(root);
                Fd file = resolver.file("read", path, FileCalls.O_RDONLY);
                InputStream in = new FileInput(FileChannel.open(file.path(), StandardOpenOption.READ), 0, SIZE_LIMIT)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ENOTDIR) {
                return "";
            }
            throw FileErrors.of("read", path, e);
        } catch (IOException e) {
            throw new SandboxException(
                    ErrorCode.UNAVAILABLE, "could not read " + path + ": it cannot be opened now; try again", e);
        }
    }
}
