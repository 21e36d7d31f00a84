package dev.berth.sandbox.local;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.RootFiles;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The places in a sandbox's own files that a runtime mounts things on, and that its root user may have spoilt. */
final class MountPoints {
    private static final Logger LOG = LoggerFactory.getLogger(MountPoints.class);
    private static final String GUEST_PLACE = "/.berth";
    private static final String TMP_MARK = "/tmp/.berth-boot";

    private final String box;
    private final RootFiles files;

    MountPoints(String box, RootFiles files) {
        this.box = box;
        this.files = files;
    }

    /** Puts the guest's places back if they are not what they were. */
    void restore() {
        if (kind(Bundle.GUEST) == FileInfo.Type.FILE && kind(Bundle.LINK) == FileInfo.Type.DIRECTORY) {
            return;
        }
        if (kind(GUEST_PLACE) != null) {
            files.remove(GUEST_PLACE);
        }
        files.makeDirectory(Bundle.LINK);
        files.write(Bundle.GUEST, InputStream.nullInputStream());
    }

    /** Makes sure that /tmp is not empty while a runtime looks, which would put a tmpfs there. */
    boolean markTmp() {
        try {
            if (files.exists("/tmp") && !files.list("/tmp", 1).isEmpty()) {
                return false;
            }
            files.write(TMP_MARK, InputStream.nullInputStream());
            return true;
        } catch (SandboxException e) {
            LOG.warn("sandbox {}: what it writes to /tmp will be lost when it stops: {}", box, e.getMessage());
            return false;
        }
    }

    void unmarkTmp() {
        files.remove(TMP_MARK);
    }

    private FileInfo.@Nullable Type kind(String path) {
        return files.exists(path) ? files.stat(path).type() : null;
    }
}
