package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.Accounts;
import dev.berth.sandbox.local.pack.Allowance;
import dev.berth.sandbox.local.pack.ArchiveUnpacker;
import dev.berth.sandbox.local.template.oci.Image;
import dev.berth.sandbox.local.template.oci.Registry;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Makes the root filesystem of an image, and makes it a sandbox's: with the user {@code user} and what Berth mounts on. */
final class ImageRoot {
    /** Counted up when what comes out here changes, so that no cached layer of before is used. */
    static final int FORMAT = 2;

    private static final int FIRST_USER = 1000;
    private static final int LAST_USER = 60_000;

    private ImageRoot() {}

    /** Makes {@code root}, which is not there yet. */
    static void make(Registry registry, Image image, Path root, Consumer<String> onLine) throws IOException {
        FileTree.privateDirectory(root);
        new RootTree(root).directory("/");
        Allowance allowance = new Allowance(ArchiveUnpacker.Bounds.IMAGE);
        int number = 0;
        for (Image.Layer layer : image.layers()) {
            onLine.accept("layer " + ++number + " of " + image.layers().size() + ", " + (layer.size() + 1023) / 1024
                    + " KB, " + layer.digest());
            registry.layer(image, layer, in -> ArchiveUnpacker.apply(kept(in), root, allowance));
        }
        finish(image, root);
    }

    /** Closing it is for whoever lent it. */
    private static InputStream kept(InputStream in) {
        return new FilterInputStream(in) {
            @Override
            public void close() {}

            @Override
            public int read(byte[] buffer, int offset, int length) throws IOException {
                return in.read(buffer, offset, length);
            }
        };
    }

    private static void finish(Image image, Path root) throws IOException {
        // of the directories that are mounted on, an image may have none, or links
        for (String directory : new String[] {"etc", "home", "var", "var/log"}) {
            if (!Files.exists(root.resolve(directory), LinkOption.NOFOLLOW_LINKS)) {
                new RootTree(root).directory("/" + directory);
            }
        }
        FileTree.deleteChildren(root.resolve("dev"));
        RootTree tree = new RootTree(root).mountPoints();
        requireBash(image, tree, root);
        tree.file("/etc/hostname", "sandbox\n")
                .file("/etc/hosts", Resources.text("hosts"))
                .file("/etc/resolv.conf", "");
        if (!tree.isRegularFile("/etc/passwd")) {
            tree.file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n");
        }
        if (!tree.isRegularFile("/etc/group")) {
            tree.file("/etc/group", "root:x:0:\n");
        }
        Accounts accounts = new Accounts(() -> root);
        if (accounts.find("user").filter(found -> found.name().equals("user")).isEmpty()) {
            addUser(tree);
        }
        if (Files.isDirectory(root.resolve("etc/sudoers.d"), LinkOption.NOFOLLOW_LINKS)) {
            tree.file("/etc/sudoers.d/user", bytes("user ALL=(ALL:ALL) NOPASSWD: ALL\n"), 0440, 0, 0);
        }
    }

    /** It runs the steps, and E2B's clients run every command by it. */
    private static void requireBash(Image image, RootTree tree, Path root) throws IOException {
        Path bin = root.resolve("bin");
        boolean merged = Files.isSymbolicLink(bin);
        boolean found = tree.isThere(merged ? "/usr/bin/bash" : "/bin/bash");
        if (!found) {
            throw SandboxException.invalid("could not use the image " + image.name()
                    + ": it has no /bin/bash, which build steps and commands are run by; take one that has it");
        }
    }

    private static void addUser(RootTree tree) throws IOException {
        Set<String> taken = numbers(tree.read("/etc/passwd"));
        taken.addAll(numbers(tree.read("/etc/group")));
        int id = IntStream.rangeClosed(FIRST_USER, LAST_USER)
                .filter(number -> !taken.contains(Integer.toString(number)))
                .findFirst()
                .orElseThrow(() -> SandboxException.invalid("the image has no number left for a user"));
        append(tree, "/etc/passwd", "user:x:" + id + ":" + id + ":user:/home/user:/bin/bash\n", 0644);
        append(tree, "/etc/group", "user:x:" + id + ":\n", 0644);
        if (tree.isRegularFile("/etc/shadow")) {
            append(tree, "/etc/shadow", "user:!:20000:0:99999:7:::\n", 0640);
        }
        if (!tree.isThere("/home/user")) {
            tree.directory("/home/user", 0750, id);
        }
    }

    /** The third field of each line, by passwd(5) and group(5). */
    private static Set<String> numbers(String accounts) {
        Set<String> numbers = new HashSet<>();
        accounts.lines()
                .map(line -> line.split(":", 4))
                .filter(fields -> fields.length > 2)
                .forEach(fields -> numbers.add(fields[2]));
        return numbers;
    }

    private static void append(RootTree tree, String path, String line, int mode) throws IOException {
        String before = tree.read(path);
        tree.file(path, bytes(before + (before.isEmpty() || before.endsWith("\n") ? "" : "\n") + line), mode, 0, 0);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
