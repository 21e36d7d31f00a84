package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.FileCalls.O_APPEND;
import static dev.berth.sandbox.local.files.FileCalls.O_CREAT;
import static dev.berth.sandbox.local.files.FileCalls.O_EXCL;
import static dev.berth.sandbox.local.files.FileCalls.O_NOFOLLOW;
import static dev.berth.sandbox.local.files.FileCalls.O_NONBLOCK;
import static dev.berth.sandbox.local.files.FileCalls.O_RDONLY;
import static dev.berth.sandbox.local.files.FileCalls.O_WRONLY;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileEvent;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The files of a sandbox, through its root filesystem as it is mounted on the host; {@link Resolver} says why that is
 * safe.
 *
 * <p>What is mounted inside the sandbox only ({@code /proc}, {@code /dev}, …) is not seen here. Names that are not UTF-8
 * are listed with U+FFFD in the place of the odd bytes, and cannot be addressed. Only regular files are read and
 * written. A rename is reported by a watch as {@code RENAMED} with the old path and {@code CREATED} with the new one,
 * each if it lies in what is watched.
 */
public final class RootFiles implements SandboxFiles {
    static final int FILE_MODE = 0644;

    private static final int TRIES = 20;

    private final Supplier<Resolver> root;
    private final Function<String, Account> accounts;
    private final Owner owner;
    /** Whether a file that is written becomes the owner's, if it was somebody else's. */
    private final boolean takesOver;

    private final Function<String, SandboxPath> parser;
    /** In a view of a directory paths are the same for all users. */
    private final boolean view;

    /**
     * @param root where the root is mounted on the host now; asked for every operation
     * @param uid the default user as the sandbox sees it, who owns what is made
     * @param home the default user's home in the sandbox, where relative paths begin
     * @param accounts who a name is now; throws {@code invalid} if nobody is
     */
    public RootFiles(Supplier<Path> root, int uid, int gid, String home, Function<String, Account> accounts) {
        String begin = SandboxPath.parse(home, "/").text();
        this(
                () -> Resolver.open(root),
                accounts,
                Owner.inside(uid, gid),
                false,
                path -> SandboxPath.parse(path, begin),
                false);
    }

    private RootFiles(
            Supplier<Resolver> root,
            Function<String, Account> accounts,
            Owner owner,
            boolean takesOver,
            Function<String, SandboxPath> parser,
            boolean view) {
        this.root = root;
        this.accounts = accounts;
        this.owner = owner;
        this.takesOver = takesOver;
        this.parser = parser;
        this.view = view;
    }

    @Override
    public SandboxFiles as(String user) {
        Account account = accounts.apply(user);
        String home = SandboxPath.parse(account.home(), "/").text();
        return new RootFiles(
                root,
                accounts,
                Owner.inside(account.uid(), account.gid()),
                true,
                view ? parser : path -> SandboxPath.parseOf(path, home),
                view);
    }

    @Override
    public SandboxFiles within(String directory) {
        SandboxPath checked = parser.apply(directory);
        return new RootFiles(
                () -> root.get().within(checked), accounts, owner, takesOver, SandboxPath::parseBelow, true);
    }

    @Override
    public String named(String path) {
        return parser.apply(path).text();
    }

    @Override
    public FileInfo stat(String path) {
        return on("look at", path, (resolver, checked) -> {
            try (Fd found = resolver.findItself(checked)) {
                Stat stat = found.stat();
                return stat.info(
                        checked.text(),
                        stat.isLink() ? Optional.of(SandboxPath.decode(found.linkTarget())) : Optional.empty());
            }
        });
    }

    @Override
    public FileInfo resolved(String path) {
        return on("look at", path, (resolver, checked) -> {
            for (int tries = 1; ; tries++) {
                try (Fd found = resolver.find(checked)) {
                    Optional<SandboxPath> where = resolver.where(found);
                    if (where.isPresent()) {
                        return found.stat().info(where.get().text(), Optional.empty());
                    }
                }
                if (tries == TRIES) {
                    throw new ErrnoException("readlink", ErrnoException.ESTALE);
                }
                Resolver.giveWay();
            }
        });
    }

    @Override
    public Map<String, String> attributes(String path) {
        return on("read the attributes of", path, (resolver, checked) -> {
            try (Fd found = resolver.find(checked)) {
                return Attributes.of(found);
            }
        });
    }

    @Override
    public void attributes(String path, String prefix, Map<String, String> attributes) {
        Attributes.check(prefix, attributes);
        on("change the attributes of", path, (resolver, checked) -> {
            try (Fd found = resolver.find(checked)) {
                Attributes.replace(found, prefix, attributes);
            }
            return checked;
        });
    }

    @Override
    public boolean exists(String path) {
        try {
            stat(path);
            return true;
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public List<FileInfo> list(String path, int depth) {
        if (depth < 1) {
            throw SandboxException.invalid("could not list " + path + ": a depth of " + depth
                    + " shows nothing; use 1 for its own entries, or more");
        }
        return on("list", path, (resolver, checked) -> {
            try (Fd directory = resolver.directory("list", checked)) {
                return Listing.of(directory, checked, depth);
            }
        });
    }

    @Override
    public InputStream read(String path, long offset, long length) {
        if (offset < 0 || length < 0) {
            throw SandboxException.invalid("could not read " + path + ": offset " + offset + " and length " + length
                    + " make no range; use numbers that are not negative");
        }
        return on("read", path, (resolver, checked) -> {
            // While our own descriptor is open no lease can be taken that the channel's open would wait for.
            try (Fd file = resolver.file("read", checked, O_RDONLY)) {
                return new FileInput(FileChannel.open(file.path(), StandardOpenOption.READ), offset, length);
            }
        });
    }

    @Override
    public void write(String path, InputStream content) {
        write(path, content, OptionalInt.empty());
    }

    @Override
    public void write(String path, InputStream content, int mode) {
        write(path, content, OptionalInt.of(checkMode("write", path, mode)));
    }

    private void write(String path, InputStream content, OptionalInt mode) {
        on("write", path, (resolver, checked) -> {
            var maker = new DirectoryMaker(resolver, owner);
            try (WriteTarget target = WriteTarget.find("write", checked, resolver, maker)) {
                Owner next =
                        takesOver ? owner : target.existing().map(Stat::owner).orElse(owner);
                new AtomicWrite(target, next).write(content, mode, new ContentCopy("write", checked));
            }
            return checked;
        });
    }

    @Override
    public void append(String path, InputStream content) {
        on("append to", path, (resolver, checked) -> {
            var maker = new DirectoryMaker(resolver, owner);
            try (WriteTarget target = WriteTarget.find("append to", checked, resolver, maker);
                    Fd file = openToAppend(target)) {
                new ContentCopy("append to", checked).copy(content, file, StandardOpenOption.APPEND);
            }
            return checked;
        });
    }

    private Fd openToAppend(WriteTarget target) throws ErrnoException {
        if (target.existing().isEmpty()) {
            int flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK;
            try (Fd made = FileCalls.openat(target.directory(), target.name(), flags, 0600)) {
                FileCalls.chown(made, owner);
                FileCalls.chmod(made, FILE_MODE);
                return made.reopen(O_WRONLY | O_APPEND);
            } catch (ErrnoException e) {
                if (e.errno() != ErrnoException.EEXIST) {
                    throw e;
                }
            }
        }
        try (Fd found = Resolver.findIn(target.directory(), target.name())) {
            Stat stat = found.stat();
            if (!stat.isFile()) {
                throw FileErrors.notAFile("append to", target.path(), stat);
            }
            return found.reopen(O_WRONLY | O_APPEND);
        }
    }

    @Override
    public void move(String from, String to) {
        on("move", from, (resolver, source) -> {
            SandboxPath target = parser.apply(to);
            byte[] oldName = source.name("move");
            byte[] newName = target.name("move to");
            try (Fd oldParent = resolver.parent(source)) {
                var _ = FileCalls.statx(oldParent, oldName); // so that no directory is made for what is not there
                try (Fd newParent = parentToMoveTo(resolver, target)) {
                    rename(source, oldParent, oldName, target, newParent, newName);
                }
            }
            return target;
        });
    }

    private Fd parentToMoveTo(Resolver resolver, SandboxPath target) throws ErrnoException {
        try {
            return new DirectoryMaker(resolver, owner).parent("move to", target);
        } catch (ErrnoException e) {
            throw FileErrors.of("move to", target, e);
        }
    }

    private static void rename(
            SandboxPath source, Fd oldParent, byte[] oldName, SandboxPath target, Fd newParent, byte[] newName)
            throws ErrnoException {
        try {
            FileCalls.renameat(oldParent, oldName, newParent, newName);
        } catch (ErrnoException e) {
            switch (e.errno()) {
                case ErrnoException.EISDIR, ErrnoException.ENOTDIR ->
                    throw SandboxException.invalid("could not move " + source + " to " + target
                            + ": one is a directory and the other is not; use another name or remove it first");
                case ErrnoException.EINVAL ->
                    throw SandboxException.invalid("could not move " + source + " to " + target
                            + ": a directory cannot go into itself; use a target outside it");
                case ErrnoException.ENOTEMPTY, ErrnoException.EEXIST, ErrnoException.ENOSPC, ErrnoException.EDQUOT ->
                    throw FileErrors.of("move to", target, e);
                default -> throw e;
            }
        }
    }

    @Override
    public void remove(String path) {
        on("remove", path, (resolver, checked) -> {
            byte[] name = checked.name("remove");
            try (Fd parent = resolver.parent(checked)) {
                TreeRemoval.remove(parent, name, checked);
            }
            return checked;
        });
    }

    @Override
    public boolean makeDirectory(String path) {
        return on(
                "make directory",
                path,
                (resolver, checked) -> new DirectoryMaker(resolver, owner).make("make directory", checked));
    }

    @Override
    public void chmod(String path, int mode) {
        int bits = checkMode("change the mode of", path, mode);
        on("change the mode of", path, (resolver, checked) -> {
            try (Fd found = resolver.find(checked)) {
                FileCalls.chmod(found, bits);
            }
            return checked;
        });
    }

    @Override
    public void chown(String path, int uid, int gid) {
        if (uid < 0 || uid >= IdMap.SIZE || gid < 0 || gid >= IdMap.SIZE) {
            throw SandboxException.invalid("could not change the owner of " + path + ": a sandbox has no id " + uid
                    + ":" + gid + "; use numbers from 0 to " + (IdMap.SIZE - 1));
        }
        on("change the owner of", path, (resolver, checked) -> {
            try (Fd found = resolver.find(checked)) {
                FileCalls.chown(found, Owner.inside(uid, gid));
            }
            return checked;
        });
    }

    @Override
    public Watch watch(String path, boolean recursive, Consumer<FileEvent> listener) {
        SandboxPath checked = parser.apply(path);
        try {
            return InotifyWatch.start(root, checked, recursive, listener);
        } catch (ErrnoException e) {
            throw FileErrors.of("watch", checked, e);
        }
    }

    private static int checkMode(String doing, String path, int mode) {
        if ((mode & ~07777) != 0) {
            throw SandboxException.invalid("could not " + doing + " " + path + ": " + Integer.toOctalString(mode)
                    + " is no mode; use octal permission bits such as 644");
        }
        return mode;
    }

    /** One operation, with the root open and the path checked. */
    private interface Operation<T> {
        T run(Resolver resolver, SandboxPath path) throws IOException;
    }

    private <T> T on(String doing, String path, Operation<T> operation) {
        SandboxPath checked = parser.apply(path);
        try (Resolver resolver = root.get()) {
            return operation.run(resolver, checked);
        } catch (ErrnoException e) {
            throw FileErrors.of(doing, checked, e);
        } catch (IOException e) {
            throw FileErrors.error(ErrorCode.UNAVAILABLE, doing, checked, "it cannot be opened now", "try again", e);
        }
    }
}
