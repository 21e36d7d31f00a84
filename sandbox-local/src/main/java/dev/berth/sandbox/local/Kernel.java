package dev.berth.sandbox.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Settings of the kernel that are meant for one person's desktop. */
final class Kernel {
    private static final Logger LOG = LoggerFactory.getLogger(Kernel.class);

    /**
     * What all sandboxes together may have of inotify is counted against root, who made their user namespaces. The
     * defaults are small enough for one sandbox to use up.
     */
    private static final Map<String, Long> INOTIFY =
            Map.of("max_user_instances", 65_536L, "max_user_watches", 1_048_576L);

    private Kernel() {}

    static void raiseInotifyLimits() {
        INOTIFY.forEach((name, wanted) -> {
            Path setting = Path.of("/proc/sys/fs/inotify", name);
            try {
                if (Long.parseLong(Files.readString(setting).strip()) < wanted) {
                    Files.writeString(setting, wanted.toString());
                }
            } catch (IOException e) {
                LOG.warn("could not raise {} to {}: one sandbox may use up what all have", setting, wanted);
            }
        });
    }
}
