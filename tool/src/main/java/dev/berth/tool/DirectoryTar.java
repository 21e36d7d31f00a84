package dev.berth.tool;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;

/**
 * Writes a directory of the workspace as a tar stream, in constant memory, while the sandbox may change it.
 *
 * <p>Links are written as links and not followed. What is neither file, directory nor link is left out, and so is what
 * vanishes before it is reached. A file that shrinks while it is written is filled up with zeros, as tar itself does.
 *
 * @param path relative to the workspace; names in the archive are relative to it
 */
public record DirectoryTar(String path) {
    private static final int MOST_ENTRIES = 1_000_000;
    private static final int BUFFER = 256 * 1024;

    public DirectoryTar {
        path = Workspace.path(path);
    }

    /** @throws IOException what the target threw; it is left open */
    public void writeTo(OutputStream target, Workspace workspace) throws IOException {
        TarArchiveOutputStream tar = new TarArchiveOutputStream(target, StandardCharsets.UTF_8.name());
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
        tar.setAddPaxHeadersForNonAsciiNames(true);
        new Writing(workspace, tar).run();
        tar.finish();
        tar.flush();
    }

    private final class Writing {
        private final Workspace workspace;
        private final TarArchiveOutputStream tar;
        private final Deque<String> waiting = new ArrayDeque<>();
        private final byte[] buffer = new byte[BUFFER];
        private int entries;

        Writing(Workspace workspace, TarArchiveOutputStream tar) {
            this.workspace = workspace;
            this.tar = tar;
        }

        void run() throws IOException {
            add(workspace.files().list(path, 1));
            for (String next = waiting.poll(); next != null; next = waiting.poll()) {
                add(list(next));
            }
        }

        private List<FileInfo> list(String directory) {
            try {
                return workspace.files().list(directory, 1);
            } catch (SandboxException e) {
                if (isGone(e)) {
                    return List.of();
                }
                throw e;
            }
        }

        private void add(List<FileInfo> all) throws IOException {
            for (FileInfo each : all) {
                if (++entries > MOST_ENTRIES) {
                    throw SandboxException.limit("could not pack " + path + ": it has more than " + MOST_ENTRIES
                            + " entries; pack a smaller directory");
                }
                add(each);
            }
        }

        private void add(FileInfo info) throws IOException {
            switch (info.type()) {
                case FILE -> addFile(info);
                case DIRECTORY -> {
                    put(info, TarConstants.LF_DIR, name(info) + "/");
                    tar.closeArchiveEntry();
                    waiting.add(info.path());
                }
                case LINK -> {
                    put(info, TarConstants.LF_SYMLINK, name(info));
                    tar.closeArchiveEntry();
                }
                case OTHER -> {}
            }
        }

        private void addFile(FileInfo info) throws IOException {
            try (InputStream content = workspace.files().read(info.path(), 0, info.size())) {
                put(info, TarConstants.LF_NORMAL, name(info));
                long left = info.size();
                for (int n = content.read(buffer); n >= 0; n = content.read(buffer)) {
                    tar.write(buffer, 0, n);
                    left -= n;
                }
                byte[] zeros = new byte[Math.clamp(left, 0, BUFFER)];
                while (left > 0) {
                    int n = (int) Math.min(left, zeros.length);
                    tar.write(zeros, 0, n);
                    left -= n;
                }
                tar.closeArchiveEntry();
            } catch (SandboxException e) {
                if (!isGone(e)) {
                    throw e;
                }
            }
        }

        private void put(FileInfo info, byte kind, String name) throws IOException {
            TarArchiveEntry entry = new TarArchiveEntry(name, kind, true);
            entry.setMode(info.mode());
            entry.setUserId(info.uid());
            entry.setGroupId(info.gid());
            entry.setLastModifiedTime(FileTime.from(info.modifiedAt()));
            if (kind == TarConstants.LF_NORMAL) {
                entry.setSize(info.size());
            }
            entry.setLinkName(info.linkTarget().orElse(""));
            tar.putArchiveEntry(entry);
        }

        private String name(FileInfo info) {
            return path.equals(Workspace.TOP) ? info.path() : info.path().substring(path.length() + 1);
        }

        /** Whether it is not there any more, or is something else by now. */
        private static boolean isGone(SandboxException e) {
            return e.code() == ErrorCode.NOT_FOUND || e.code() == ErrorCode.INVALID || e.code() == ErrorCode.DENIED;
        }
    }
}
