package dev.berth.gateway.api;

import com.networknt.schema.Schema;
import dev.berth.gateway.api.Calls.Access;
import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.api.Calls.Outcome;
import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.config.SandboxConfigs;
import dev.berth.gateway.config.SandboxConfigs.Stored;
import dev.berth.gateway.e2b.template.TemplateOwners;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.skill.Skills;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.PermissionMode;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.artifact.Collected;
import dev.berth.tool.CommandPolicy;
import dev.berth.tool.Edit;
import dev.berth.tool.FileWrite;
import dev.berth.tool.Glob;
import dev.berth.tool.Grep;
import dev.berth.tool.OutputTap;
import dev.berth.tool.RunRequest;
import dev.berth.tool.RunResult;
import dev.berth.tool.Runner;
import dev.berth.tool.Stop;
import dev.berth.tool.TextRead;
import dev.berth.tool.ToolSettings;
import dev.berth.tool.Workspace;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import tools.jackson.databind.node.ObjectNode;

/**
 * The tools for models. What a model did wrong is an answer it can read, with {@code ok} false and what to do next; only
 * what the caller did wrong is a problem of HTTP.
 */
public final class ToolApi {
    /** @param checks what its input has to be, compiled once: this is on the way of every call */
    private record Tool(String name, String schema, Schema checks, Access access, Work work) {}

    private interface Work {
        RunResult run(Session session, Terms terms, ObjectNode input);
    }

    /** Under which a call is made. */
    private record Terms(ToolSettings settings, boolean changes, OutputTap tap, Stop stop) {}

    private static final String ASYNC_STATUS = "async_status";

    private static final Set<String> BESIDE = Set.of("session_id", "tenant_id", "sandbox", "changes");
    /** What the model's input can be the reason of; anything else is ours. */
    private static final Set<ErrorCode> FOR_THE_MODEL = Set.of(
            ErrorCode.INVALID,
            ErrorCode.NOT_FOUND,
            ErrorCode.DENIED,
            ErrorCode.CONFLICT,
            ErrorCode.TIMEOUT,
            ErrorCode.UNSUPPORTED);

    private final TemplateOwners owners;
    private final Calls calls;
    private final Runner runner;
    private final SandboxConfigs configs;
    private final Skills skills;
    private final JobApi jobs;
    private final Contract contract;
    private final ToolSettings settings;
    private final Map<String, Tool> tools = new LinkedHashMap<>();

    public ToolApi(
            Calls calls,
            Runner runner,
            SandboxConfigs configs,
            Skills skills,
            JobApi jobs,
            Contract contract,
            TemplateOwners owners,
            ToolSettings settings) {
        this.owners = owners;
        this.skills = skills;
        this.jobs = jobs;
        this.calls = calls;
        this.runner = runner;
        this.configs = configs;
        this.contract = contract;
        this.settings = settings;
        for (Tool tool : List.of(
                tool("bash", "BashInput", Access.RUN, this::bash),
                tool("read", "ReadInput", Access.READ, text(ToolApi::read)),
                tool("write", "WriteInput", Access.WRITE, text(ToolApi::write)),
                tool("edit", "EditInput", Access.WRITE, text(ToolApi::edit)),
                tool("glob", "GlobInput", Access.READ, text(ToolApi::glob)),
                tool("grep", "GrepInput", Access.READ, text(ToolApi::grep)),
                tool("load_skill", "LoadSkillInput", Access.STAGE, this::loadSkill),
                tool(ASYNC_STATUS, "AsyncStatusInput", Access.READ, ToolApi::withoutSession))) {
            tools.put(tool.name(), tool);
        }
    }

    private Tool tool(String name, String schema, Access access, Work work) {
        return new Tool(name, schema, contract.schema(schema), access, work);
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("listTools", this::list, "callTool", this::call);
    }

    // ---- definitions ---------------------------------------------------------------------------------------------

    private Answer list(Exchange exchange) {
        boolean openai = exchange.query("format").orElse("anthropic").equals("openai");
        return Answer.ok(Map.of(
                "tools",
                tools.values().stream()
                        .map(tool -> openai ? openAi(tool) : anthropic(tool))
                        .toList()));
    }

    private Map<String, Object> anthropic(Tool tool) {
        ObjectNode schema = contract.component(tool.schema());
        String description = schema.remove("description").asString();
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("name", tool.name());
        shown.put("description", description);
        shown.put("input_schema", schema);
        return shown;
    }

    private Map<String, Object> openAi(Tool tool) {
        Map<String, Object> function = anthropic(tool);
        function.put("parameters", java.util.Objects.requireNonNull(function.remove("input_schema")));
        return Map.of("type", "function", "function", function);
    }

    // ---- calls ---------------------------------------------------------------------------------------------------

    private Answer call(Exchange exchange) {
        Tool tool = tools.get(exchange.path("name"));
        if (tool == null) {
            throw SandboxException.notFound(
                    "there is no tool '" + exchange.path("name") + "'; there are " + tools.keySet());
        }
        ObjectNode body = exchange.body();
        ObjectNode input = body.deepCopy();
        BESIDE.forEach(input::remove);
        Caller caller = exchange.caller();
        String tenant = SessionApi.tenant(caller, SandboxApi.optional(body, "tenant_id"));
        Optional<Stored> config = SandboxApi.optional(body, "sandbox").map(name -> configs.inUse(tenant, name));
        Optional<SessionKey> key = SandboxApi.optional(body, "session_id").map(id -> SessionKey.of(tenant, id));
        long began = System.nanoTime();
        try {
            Contract.check(tool.checks(), input);
            if (tool.name().equals(ASYNC_STATUS)) {
                RunResult told = jobs.status(tenant, key, input);
                return Answer.ok(shown(new Outcome<>(told, Collected.NOTHING, Optional.empty())));
            }
            return run(exchange, tenant, tool, key, config, input);
        } catch (SandboxException e) {
            if (!FOR_THE_MODEL.contains(e.code())) {
                throw e;
            }
            return Answer.ok(failed(e, Duration.ofNanos(System.nanoTime() - began)));
        }
    }

    /** Tells the model when a person did not allow its call. */
    public static Endpoint tellDenials(Endpoint endpoint) {
        return exchange -> {
            long began = System.nanoTime();
            try {
                return endpoint.answer(exchange);
            } catch (SandboxException e) {
                if (e.code() != ErrorCode.DENIED) {
                    throw e;
                }
                return Answer.ok(failed(e, Duration.ofNanos(System.nanoTime() - began)));
            }
        };
    }

    private static Map<String, Object> shown(Outcome<RunResult> done) {
        Map<String, Object> shown = SandboxApi.show(done.value(), done);
        shown.put("ok", shown.remove("success"));
        return shown;
    }

    /** What tells of jobs is answered without bringing the session up. */
    private static RunResult withoutSession(Session session, Terms terms, ObjectNode input) {
        throw new IllegalStateException("this needs no session");
    }

    private Answer run(
            Exchange exchange,
            String tenant,
            Tool tool,
            Optional<SessionKey> key,
            Optional<Stored> config,
            ObjectNode input) {
        SessionSpec spec = config.map(
                        stored -> owners.checked(tenant, stored.config().spec(calls.defaults())))
                .orElse(calls.defaults());
        Terms terms = new Terms(
                config.map(stored -> stored.config().tools(settings)).orElse(settings),
                exchange.body().path("changes").asBoolean(false),
                OutputEvents.to(exchange.events()),
                exchange.stop());
        PermissionMode mode = config.map(stored -> stored.config().mode()).orElse(PermissionMode.BYPASS);
        Call call = new Call(exchange, tool.name(), SandboxApi.optional(input, "command"), tool.access(), mode);
        boolean persistent =
                config.map(stored -> stored.config().isPersistent()).orElse(true);
        if (key.isEmpty() || !persistent) {
            if (tool.access() != Access.RUN || JobApi.wanted(input)) {
                throw SandboxException.invalid(
                        "without a session that stays there are no files to work with and nothing"
                                + " in the background, only bash: write and run in one command, or give a session_id");
            }
            return Answer.ok(shown(calls.alone(
                    tenant, spec, call, session -> tool.work().run(session, terms, input), RunResult::exitCode)));
        }
        config.ifPresent(stored -> configs.used(stored, key.get()));
        if (JobApi.wanted(input)) {
            return jobs.start(call, key.get(), spec, terms.settings(), session -> request(session, terms, input));
        }
        return Answer.ok(shown(calls.in(
                key.get(), spec, call, session -> tool.work().run(session, terms, input), RunResult::exitCode)));
    }

    private static Map<String, Object> failed(SandboxException e, Duration duration) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("ok", false);
        shown.put("timed_out", false);
        shown.put("duration_ms", duration.toMillis());
        shown.put("stdout", "");
        shown.put("stderr", "Error: " + e.getMessage());
        shown.put("truncated", false);
        shown.put("limits_hit", List.of());
        shown.put("artifacts", List.of());
        shown.put("error", Map.of("code", e.code().wireName(), "message", e.getMessage()));
        return shown;
    }

    // ---- the tools -----------------------------------------------------------------------------------------------

    private RunResult bash(Session session, Terms terms, ObjectNode input) {
        return runner.run(session, terms.settings(), request(session, terms, input));
    }

    private static RunRequest request(Session session, Terms terms, ObjectNode input) {
        String command = input.path("command").asString();
        String directory = Workspace.of(session.sandbox()).directory();
        CommandPolicy.ON.require(command, directory, terms.settings().languages());
        RunRequest request =
                RunRequest.bash(command, directory).withTap(terms.tap()).withStop(terms.stop());
        if (input.has("timeout")) {
            request = request.withTimeout(SandboxApi.seconds(input));
        }
        return terms.changes() ? request.withChanges() : request;
    }

    private interface TextWork {
        String run(Workspace workspace, ObjectNode input);
    }

    /** A tool whose result is a text for the model. */
    private static Work text(TextWork work) {
        return (session, _, input) -> {
            long began = System.nanoTime();
            String text = work.run(Workspace.of(session.sandbox()), input);
            return RunResult.text(text, Duration.ofNanos(System.nanoTime() - began));
        };
    }

    /** A path is the skill's name, perhaps with the tenant's before it, as agents of some makers write it. */
    private RunResult loadSkill(Session session, Terms terms, ObjectNode input) {
        String tenant = session.key().tenant();
        String path = input.path("path").asString();
        String name = path.startsWith(tenant + "/") ? path.substring(tenant.length() + 1) : path;
        return text((workspace, _) -> Skills.stage(skills.get(tenant, name), workspace))
                .run(session, terms, input);
    }

    private static String path(ObjectNode input, String field) {
        return Workspace.rooted(input.path(field).asString(Workspace.TOP));
    }

    private static String read(Workspace workspace, ObjectNode input) {
        return new TextRead(
                        path(input, "file_path"),
                        input.path("offset").asLong(1),
                        input.path("limit").asInt(TextRead.DEFAULT_LIMIT))
                .run(workspace)
                .numbered();
    }

    private static String write(Workspace workspace, ObjectNode input) {
        byte[] content =
                FileWrite.Encoding.parse("utf-8").decode(input.path("content").asString());
        FileWrite.Written written =
                new FileWrite(path(input, "file_path"), content, false, OptionalInt.empty()).run(workspace);
        return "Wrote " + written.path() + " (" + written.bytesWritten() + " bytes)\n";
    }

    private static String edit(Workspace workspace, ObjectNode input) {
        Edit.Edited edited = new Edit(
                        path(input, "file_path"),
                        input.path("old_string").asString(),
                        input.path("new_string").asString(),
                        input.path("replace_all").asBoolean(false))
                .run(workspace);
        return "Edited " + edited.path() + " (" + edited.replacements()
                + (edited.replacements() == 1 ? " replacement)\n" : " replacements)\n") + edited.snippet();
    }

    private static String glob(Workspace workspace, ObjectNode input) {
        Glob.Found found = new Glob(
                        Workspace.rooted(input.path("pattern").asString()),
                        path(input, "path"),
                        List.of(),
                        false,
                        input.path("limit").asInt(Glob.DEFAULT_LIMIT),
                        input.path("offset").asInt(0),
                        Glob.Sort.parse("mtime"))
                .run(workspace);
        StringBuilder text = new StringBuilder();
        found.files().forEach(match -> text.append(match.path()).append('\n'));
        if (found.files().isEmpty()) {
            text.append("No files found\n");
        }
        found.nextOffset()
                .ifPresent(next -> text.append("[there are more; go on with offset ")
                        .append(next)
                        .append("]\n"));
        return text.toString();
    }

    private static String grep(Workspace workspace, ObjectNode input) {
        int context = input.path("context").asInt(0);
        return new Grep(
                        input.path("pattern").asString(),
                        path(input, "path"),
                        SandboxApi.optional(input, "glob"),
                        Grep.Mode.parse(input.path("output_mode").asString("files_with_matches")),
                        input.path("case_insensitive").asBoolean(false),
                        context,
                        context,
                        input.path("limit").asInt(Grep.DEFAULT_RESULTS),
                        input.path("offset").asInt(0),
                        false,
                        false)
                .run(workspace)
                .text(input.path("line_numbers").asBoolean(true));
    }
}
