package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import dev.berth.gateway.e2b.template.TemplateRow.LogRow;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.TemplateInfo;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;

/** Templates and builds in the shapes of E2B's API. */
final class TemplateJson {
    private static final String ENVD_VERSION = "0.6.13";

    private final Limits usual;

    /** @param usual of sandboxes whose template says nothing else */
    TemplateJson(Limits usual) {
        this.usual = usual;
    }

    Map<String, Object> template(TemplateRow row) {
        Optional<BuildRow> latest = row.latest();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("templateID", row.id());
        json.put("buildID", latest.map(build -> build.id().toString()).orElse(""));
        json.put("buildStatus", latest.map(build -> build.status().text()).orElse("waiting"));
        json.put("cpuCount", cpus(latest.map(BuildRow::cpus).orElse(OptionalInt.empty())));
        json.put("memoryMB", memory(latest.map(BuildRow::memoryMb).orElse(OptionalInt.empty())));
        json.put("diskSizeMB", disk());
        json.put("public", row.isPublic());
        json.put("aliases", row.aliases());
        json.put("names", names(row));
        json.put("createdAt", row.createdAt().toString());
        json.put(
                "updatedAt",
                latest.map(BuildRow::updatedAt)
                        .filter(row.updatedAt()::isBefore)
                        .orElse(row.updatedAt())
                        .toString());
        json.put("createdBy", null);
        json.put("lastSpawnedAt", row.lastSpawnedAt().map(Instant::toString).orElse(null));
        json.put("spawnCount", row.spawned());
        json.put("buildCount", row.builds());
        json.put("envdVersion", ENVD_VERSION);
        return json;
    }

    /** One that the operator has for everybody. */
    Map<String, Object> template(TemplateInfo info) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("templateID", info.name());
        json.put("buildID", buildId(info).toString());
        json.put("buildStatus", "ready");
        json.put("cpuCount", cpus(OptionalInt.empty()));
        json.put("memoryMB", memory(OptionalInt.empty()));
        json.put("diskSizeMB", disk());
        json.put("public", true);
        json.put("aliases", List.of(info.name()));
        json.put("names", List.of(info.name()));
        json.put("createdAt", info.createdAt().toString());
        json.put("updatedAt", info.createdAt().toString());
        json.put("createdBy", null);
        json.put("lastSpawnedAt", null);
        json.put("spawnCount", 0);
        json.put("buildCount", info.version());
        json.put("envdVersion", ENVD_VERSION);
        return json;
    }

    /** Always the same for a version. */
    static UUID buildId(TemplateInfo info) {
        return UUID.nameUUIDFromBytes(info.id().getBytes(StandardCharsets.UTF_8));
    }

    Map<String, Object> build(BuildRow build) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("buildID", build.id().toString());
        json.put("status", build.status().text());
        json.put("createdAt", build.createdAt().toString());
        json.put("updatedAt", build.updatedAt().toString());
        build.finishedAt().ifPresent(at -> json.put("finishedAt", at.toString()));
        json.put("cpuCount", cpus(build.cpus()));
        json.put("memoryMB", memory(build.memoryMb()));
        if (build.root().isPresent()) {
            json.put("diskSizeMB", disk());
            json.put("envdVersion", ENVD_VERSION);
        }
        return json;
    }

    static Map<String, Object> log(LogRow row) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("timestamp", row.at().toString());
        json.put("level", row.level());
        json.put("message", row.message());
        row.step().ifPresent(step -> json.put("step", step));
        return json;
    }

    static List<String> names(TemplateRow row) {
        return row.aliases().stream().map(alias -> row.tenant() + "/" + alias).toList();
    }

    private int cpus(OptionalInt given) {
        int own = usual.cpus() > 0
                ? (int) Math.ceil(usual.cpus())
                : Runtime.getRuntime().availableProcessors();
        return given.orElse(own);
    }

    private long memory(OptionalInt given) {
        return given.isPresent() ? given.getAsInt() : usual.memoryBytes() >> 20;
    }

    private long disk() {
        return usual.diskBytes() >> 20;
    }
}
