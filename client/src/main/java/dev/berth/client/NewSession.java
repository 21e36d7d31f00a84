package dev.berth.client;

import java.time.Duration;
import java.util.Map;

/** A session to be made. What is not said is as the server has it. */
public final class NewSession {
    private final Json fields;

    private NewSession(Json fields) {
        this.fields = fields;
    }

    /** With a name that the server chooses. */
    public static NewSession unnamed() {
        return new NewSession(Json.object());
    }

    /** One of that name which is there already is left as it is. */
    public static NewSession named(String id) {
        return new NewSession(Json.object().with("session_id", id));
    }

    public NewSession withTemplate(String template) {
        return with("template", template);
    }

    public NewSession withMemory(long bytes) {
        return limit("memory", bytes);
    }

    public NewSession withDisk(long bytes) {
        return limit("disk", bytes);
    }

    public NewSession withCpus(double cpus) {
        return limit("cpus", cpus);
    }

    public NewSession withPids(int pids) {
        return limit("pids", pids);
    }

    /** Variables of everything that runs in it. */
    public NewSession withEnv(Map<String, String> env) {
        return with("env", env);
    }

    /** @param network what it may reach, by the names that the API has */
    public NewSession withNetwork(Json network) {
        return with("network", network);
    }

    /** It stays up when nobody uses it. */
    public NewSession pinned() {
        return with("pinned", true);
    }

    /** @param mode which calls a person has to allow: ask, edit or bypass */
    public NewSession withPermissionMode(String mode) {
        return with("permission_mode", mode);
    }

    /** Keeps the files as they were before each of so many turns. */
    public NewSession keepingCheckpoints(int turns) {
        return with("keep_checkpoints", turns);
    }

    /** Notes of whoever makes it. */
    public NewSession withMetadata(Map<String, String> metadata) {
        return with("metadata", metadata);
    }

    /**
     * How long it stays up each time, used or not.
     *
     * @param then what becomes of it: delete, pause or stop
     */
    public NewSession withExpiry(Duration after, String then) {
        return with(
                "expiry", Json.object().with("after", after.toMillis() / 1e3).with("then", then));
    }

    /** With the files of a kept checkpoint, by its id or name. */
    public NewSession fromCheckpoint(String idOrName) {
        return with("checkpoint", idOrName);
    }

    /** Any other field of the API. */
    public NewSession with(String name, Object value) {
        return new NewSession(fields.with(name, value));
    }

    private NewSession limit(String name, Object value) {
        return with("limits", fields.get("limits").with(name, value));
    }

    Json fields() {
        return fields;
    }
}
