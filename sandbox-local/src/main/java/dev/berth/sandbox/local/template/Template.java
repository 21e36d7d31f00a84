package dev.berth.sandbox.local.template;

import dev.berth.sandbox.TemplateInfo;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A named, versioned root filesystem that sandboxes start from, with the defaults of their commands. It never changes
 * once it is published: sandboxes have it as the lower layer of their overlay.
 *
 * @param root the root filesystem on the host; its files belong to shifted ids
 * @param readOnlyHostPaths directories of the host that have to be mounted, read-only, at the same path inside
 * @param env what commands find in their environment
 * @param workdir where commands start
 * @param user whom commands run as
 * @param sudo whether the user may become root inside, for which no-new-privileges has to be off
 * @param start what runs as soon as a sandbox is there
 * @param ready a command that ends with 0 once {@code start} is up to its work
 * @param size bytes of all files
 * @param recipe the hash of all that went into it; the same recipe is not built twice
 */
public record Template(
        String name,
        int version,
        Path root,
        List<String> readOnlyHostPaths,
        Map<String, String> env,
        String workdir,
        String user,
        boolean sudo,
        Optional<List<String>> start,
        Optional<String> ready,
        Instant createdAt,
        long size,
        String recipe) {
    /** Where a sandbox finds what its start command wrote. */
    public static final String START_LOG = "/var/log/berth-start.log";

    public Template {
        readOnlyHostPaths = List.copyOf(readOnlyHostPaths);
        env = Collections.unmodifiableMap(new TreeMap<>(env));
        start = start.map(List::copyOf);
    }

    /** As those see it who need not know where it lies. */
    public TemplateInfo info() {
        return new TemplateInfo(name, version, user, workdir, start.map(List::getLast), ready, size, createdAt);
    }

    /** Name and version, such as {@code base:1}. */
    public String id() {
        return name + ":" + version;
    }
}
