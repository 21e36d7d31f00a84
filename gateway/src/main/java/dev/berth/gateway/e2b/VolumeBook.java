package dev.berth.gateway.e2b;

import dev.berth.gateway.e2b.VolumeTable.Row;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.store.Database;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The volumes of tenants. A row comes before its directory and goes after it, so that a server that is killed in between
 * leaves nothing that nobody knows of.
 */
public final class VolumeBook {
    private static final Logger LOG = LoggerFactory.getLogger(VolumeBook.class);
    private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9_-]{1,128}");
    private static final int MOST = 1000;
    private static final int MOST_MOUNTS = 16;

    private final VolumeTable table;
    private final SandboxProvider provider;

    public VolumeBook(Database database, SandboxProvider provider) {
        this.table = new VolumeTable(database);
        this.provider = provider;
    }

    Row make(String tenant, String name) {
        requireSupported();
        if (!NAME.matcher(name).matches()) {
            throw new E2bError(400, "a volume's name must have 1 to 128 letters, digits, dashes and underscores");
        }
        if (table.count(tenant) >= MOST) {
            throw SandboxException.limit("a tenant can have " + MOST + " volumes; remove one that is not needed");
        }
        Row row = table.insert(new Row(UUID.randomUUID().toString(), tenant, name, provider.location()))
                .orElseThrow(() -> new E2bError(409, "Volume with name '" + name + "' already exists"));
        makeDirectory(row);
        return row;
    }

    List<Row> list(String tenant) {
        return table.list(tenant);
    }

    Row get(String tenant, String id) {
        return table.find(id).filter(row -> row.tenant().equals(tenant)).orElseThrow(() -> unknown(id));
    }

    static E2bError unknown(String id) {
        return new E2bError(404, "Volume \"" + id + "\" not found");
    }

    void remove(String tenant, String id) {
        Row row = get(tenant, id);
        requireHere(row);
        if (!table.hide(id)) {
            throw mounted(row);
        }
        try {
            provider.volumes().remove(id);
        } catch (SandboxException e) {
            table.show(id);
            throw e;
        }
        table.delete(id);
    }

    private static E2bError mounted(Row row) {
        return new E2bError(409, "Volume \"" + row.name() + "\" is mounted in a sandbox; remove the sandbox first");
    }

    /** The files of a volume, whoever's it is. */
    SandboxFiles files(String id) {
        Row row = table.find(id).orElseThrow(() -> unknown(id));
        requireHere(row);
        makeDirectory(row);
        return provider.volumes().files(id);
    }

    /**
     * Makes the directory if a server was killed just after it had written the volume down; not of one that is being
     * removed, of which nobody would remove it again.
     */
    private void makeDirectory(Row row) {
        if (!table.whileThere(row.id(), () -> provider.volumes().make(row.id()))) {
            throw unknown(row.id());
        }
    }

    /** The mounts that a sandbox is to be made with: {@code [{"name": …, "path": …}]}. */
    public List<Mount> mounts(String tenant, JsonNode given) {
        if (given.isMissingNode() || given.isNull() || (given.isArray() && given.isEmpty())) {
            return List.of();
        }
        requireSupported();
        if (!given.isArray() || given.size() > MOST_MOUNTS) {
            throw new E2bError(400, "volumeMounts must be a list of at most " + MOST_MOUNTS + " mounts");
        }
        List<Mount> mounts = new ArrayList<>();
        for (JsonNode one : given) {
            String name = one.path("name").asString("");
            Row row = table.named(tenant, name)
                    .orElseThrow(() -> new E2bError(400, "volumeMounts: there is no volume \"" + name + "\""));
            requireHere(row);
            makeDirectory(row);
            String path = one.path("path").asString("");
            mounts.add(new Mount(row.id(), path.matches("..*/") ? path.substring(0, path.length() - 1) : path));
        }
        return Mount.checked(mounts);
    }

    /** The same as it was given. */
    public List<Map<String, String>> shown(List<Mount> mounts) {
        List<Map<String, String>> shown = new ArrayList<>();
        for (Mount mount : mounts) {
            Optional<Row> row = table.find(mount.volume());
            shown.add(Map.of("name", row.map(Row::name).orElse(mount.volume()), "path", mount.path()));
        }
        return shown;
    }

    /** Ends what servers that were killed had begun to remove. */
    public void sweep() {
        for (Row row : table.hidden(provider.location())) {
            try {
                provider.volumes().remove(row.id());
                table.delete(row.id());
            } catch (SandboxException e) {
                LOG.warn("could not remove volume {}; it will be tried again: {}", row.id(), e.getMessage());
            }
        }
    }

    private void requireSupported() {
        if (!provider.capabilities().contains(Capability.VOLUMES)) {
            throw new E2bError(400, "volumes are not supported by the sandboxes of this server");
        }
    }

    private void requireHere(Row row) {
        if (!row.location().equals(provider.location())) {
            throw SandboxException.unavailable("volume " + row.id() + " is on another machine than this server's");
        }
    }
}
