package dev.berth.tool;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.util.ArrayList;
import java.util.List;

/**
 * The directory of a sandbox that the tools work in: {@code workspace} in the home of its default user, made when it is
 * first asked for.
 *
 * <p>File tools see nothing else: their paths are checked by {@link #path}, and what is behind a path is looked for in
 * {@link #files}, where the kernel refuses whatever leads outside. This keeps a tool to its task. It is no wall around a
 * model that may also run commands, which see the whole sandbox.
 */
public final class Workspace {
    /** The workspace itself, as a path of a tool. */
    public static final String TOP = ".";

    private static final String NAME = "workspace";

    private final Sandbox sandbox;
    private final String directory;
    private final SandboxFiles files;

    private Workspace(Sandbox sandbox, String directory) {
        this.sandbox = sandbox;
        this.directory = directory;
        this.files = sandbox.files().within(directory);
    }

    public static Workspace of(Sandbox sandbox) {
        SandboxFiles all = sandbox.files();
        String directory = all.named(NAME);
        all.makeDirectory(directory);
        return new Workspace(sandbox, directory);
    }

    /** Its absolute path in the sandbox, for commands to begin in. */
    public String directory() {
        return directory;
    }

    /** Its files, by paths relative to it; nothing leads outside. */
    public SandboxFiles files() {
        return files;
    }

    Sandbox sandbox() {
        return sandbox;
    }

    /**
     * Checks a path that was given to a tool, and returns it without empty and {@code .} components.
     *
     * @throws SandboxException {@code denied} for an absolute path or one with {@code ..}, {@code invalid} for one that
     *     cannot be a path
     */
    public static String path(String given) {
        if (given.isEmpty()) {
            throw SandboxException.invalid("could not use the path: it is empty; give one relative to the workspace,"
                    + " or '.' for the workspace itself");
        }
        if (given.indexOf('\0') >= 0) {
            throw SandboxException.invalid("could not use the path: it has a NUL character in it; remove that");
        }
        if (given.startsWith("/")) {
            throw SandboxException.denied("could not use the path '" + Texts.cut(given, 200)
                    + "': it is absolute; give one relative to the workspace, such as 'notes/today.md'");
        }
        List<String> components = new ArrayList<>();
        for (String component : given.split("/")) {
            if (component.equals("..")) {
                throw SandboxException.denied("could not use the path '" + Texts.cut(given, 200)
                        + "': it has '..' in it; give one that goes down from the workspace only");
            }
            if (!component.isEmpty() && !component.equals(".")) {
                components.add(component);
            }
        }
        return components.isEmpty() ? TOP : String.join("/", components);
    }

    /** As {@link #path}, for tools to which {@code /} is the workspace: leading slashes are left out. */
    public static String rooted(String given) {
        String relative = given.replaceFirst("^/+", "");
        return path(relative.isEmpty() && !given.isEmpty() ? TOP : relative);
    }

    /** As {@link #path}, and it does not name the workspace itself. */
    static String filePath(String doing, String given) {
        String path = path(given);
        if (path.equals(TOP)) {
            throw SandboxException.invalid(
                    "could not " + doing + " '" + given + "': it is the workspace itself; name a file in it");
        }
        return path;
    }
}
