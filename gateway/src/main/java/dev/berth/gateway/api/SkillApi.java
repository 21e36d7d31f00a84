package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.skill.Skill;
import dev.berth.gateway.skill.Skills;
import dev.berth.sandbox.SandboxException;
import dev.berth.tool.FileWrite;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** The skills of a tenant. */
public final class SkillApi {
    private final Skills skills;

    public SkillApi(Skills skills) {
        this.skills = skills;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "putSkill", this::put,
                "listSkills",
                        exchange -> Answer.ok(
                                Map.of("skills", skills.list(exchange.caller().tenant()))),
                "getSkill", this::get,
                "deleteSkill", this::delete);
    }

    private Answer put(Exchange exchange) {
        Map<String, byte[]> files = new LinkedHashMap<>();
        for (JsonNode file : exchange.body().path("files")) {
            String path = file.path("path").asString();
            if (file.has("content") == file.has("content_base64")) {
                throw SandboxException.invalid(
                        "file '" + path + "' has to have content or content_base64, one of them");
            }
            byte[] content = file.has("content")
                    ? FileWrite.Encoding.parse("utf-8")
                            .decode(file.path("content").asString())
                    : FileWrite.Encoding.parse("base64")
                            .decode(file.path("content_base64").asString());
            if (files.put(path, content) != null) {
                throw SandboxException.invalid("file '" + path + "' is there twice");
            }
        }
        return Answer.created(skills.put(exchange.caller().tenant(), Skill.of(files)));
    }

    private Answer get(Exchange exchange) {
        Skill skill = skills.get(exchange.caller().tenant(), exchange.path("skill"));
        Map<String, String> files = new LinkedHashMap<>();
        skill.files().forEach((path, content) -> files.put(path, new String(content, StandardCharsets.UTF_8)));
        return Answer.ok(Map.of("name", skill.name(), "description", skill.description(), "files", files));
    }

    private Answer delete(Exchange exchange) {
        skills.delete(exchange.caller().tenant(), exchange.path("skill"));
        return Answer.done();
    }
}
