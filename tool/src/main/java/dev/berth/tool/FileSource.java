package dev.berth.tool;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Opens a file for a tool, and says what to do instead where that fails. */
final class FileSource {
    private static final int SUGGESTIONS = 3;
    /** In a directory of more than this nobody looks for a name like it. */
    private static final int MOST_COMPARED = 20_000;

    private FileSource() {}

    static InputStream open(Workspace workspace, String doing, String path) {
        if (path.equals(Workspace.TOP)) {
            throw directory(doing, path);
        }
        try {
            return workspace.files().read(path);
        } catch (SandboxException e) {
            throw switch (e.code()) {
                case NOT_FOUND -> missing(workspace, doing, path, e);
                case INVALID -> isDirectory(workspace, path) ? directory(doing, path) : e;
                default -> e;
            };
        }
    }

    /** What is there now, to see later whether it changed; a link is not followed. */
    static FileInfo stat(Workspace workspace, String doing, String path) {
        try {
            return workspace.files().stat(path);
        } catch (SandboxException e) {
            throw e.code() == ErrorCode.NOT_FOUND ? missing(workspace, doing, path, e) : e;
        }
    }

    static SandboxException unreadable(String doing, String path, IOException e) {
        return SandboxException.unavailable("could not " + doing + " " + path + ": reading it failed; try again", e);
    }

    private static SandboxException directory(String doing, String path) {
        return SandboxException.invalid("could not " + doing + " " + path
                + ": it is a directory; use glob with this path to see the files in it, and name one of them");
    }

    private static boolean isDirectory(Workspace workspace, String path) {
        try {
            return workspace.files().within(path).stat(Workspace.TOP).type() == FileInfo.Type.DIRECTORY;
        } catch (SandboxException _) {
            return false;
        }
    }

    private static SandboxException missing(Workspace workspace, String doing, String path, SandboxException cause) {
        List<String> similar = similar(workspace, path);
        String next = similar.isEmpty()
                ? "use glob to find the right path"
                : "did you mean " + String.join(" or ", similar) + "?";
        return new SandboxException(
                ErrorCode.NOT_FOUND,
                "could not " + doing + " " + path + ": there is no such file in the workspace; " + next,
                cause);
    }

    private static List<String> similar(Workspace workspace, String path) {
        int slash = path.lastIndexOf('/');
        String wanted = path.substring(slash + 1).toLowerCase(Locale.ROOT);
        try {
            List<FileInfo> beside = workspace.files().list(slash < 0 ? Workspace.TOP : path.substring(0, slash), 1);
            if (beside.size() > MOST_COMPARED) {
                return List.of();
            }
            return beside.stream()
                    .map(FileInfo::path)
                    .filter(candidate -> distance(wanted, candidate) <= Math.max(1, wanted.length() / 3))
                    .sorted(Comparator.comparingInt(candidate -> distance(wanted, candidate)))
                    .limit(SUGGESTIONS)
                    .toList();
        } catch (SandboxException _) {
            return List.of();
        }
    }

    /** How many letters differ between the wanted name and a candidate's, ignoring case. */
    private static int distance(String wanted, String candidate) {
        String name = candidate.substring(candidate.lastIndexOf('/') + 1).toLowerCase(Locale.ROOT);
        if (Math.abs(name.length() - wanted.length()) > wanted.length() / 3 + 1) {
            return Integer.MAX_VALUE;
        }
        int[] row = new int[name.length() + 1];
        for (int i = 0; i <= name.length(); i++) {
            row[i] = i;
        }
        for (int w = 1; w <= wanted.length(); w++) {
            int diagonal = row[0];
            row[0] = w;
            for (int n = 1; n <= name.length(); n++) {
                int above = row[n];
                int same = wanted.charAt(w - 1) == name.charAt(n - 1) ? diagonal : diagonal + 1;
                row[n] = Math.min(same, Math.min(above, row[n - 1]) + 1);
                diagonal = above;
            }
        }
        return row[name.length()];
    }
}
