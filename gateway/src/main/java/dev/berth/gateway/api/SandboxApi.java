package dev.berth.gateway.api;

import dev.berth.gateway.api.Calls.Access;
import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.api.Calls.Outcome;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.tool.BinaryRead;
import dev.berth.tool.ExecuteRequest;
import dev.berth.tool.ExecuteResult;
import dev.berth.tool.FileCopy;
import dev.berth.tool.FileWrite;
import dev.berth.tool.Glob;
import dev.berth.tool.Grep;
import dev.berth.tool.Interpreter;
import dev.berth.tool.Language;
import dev.berth.tool.OutputStore;
import dev.berth.tool.RunRequest;
import dev.berth.tool.RunResult;
import dev.berth.tool.Runner;
import dev.berth.tool.TextPage;
import dev.berth.tool.TextRead;
import dev.berth.tool.ToolSettings;
import dev.berth.tool.Workspace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Running code and working with files in the computer of a conversation. */
public final class SandboxApi {
    private static final int PAGE = 1 << 20;

    private final Calls calls;
    private final Runner runner;
    private final Interpreter interpreter;
    private final OutputStore outputs;
    private final JobApi jobs;
    private final ToolSettings settings;

    public SandboxApi(
            Calls calls,
            Runner runner,
            Interpreter interpreter,
            OutputStore outputs,
            JobApi jobs,
            ToolSettings settings) {
        this.jobs = jobs;
        this.calls = calls;
        this.runner = runner;
        this.interpreter = interpreter;
        this.outputs = outputs;
        this.settings = settings;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "execute", this::execute,
                "bash", this::bash,
                "read", this::read,
                "readBinary", this::readBinary,
                "write", this::write,
                "grep", this::grep,
                "glob", this::glob,
                "output", this::output,
                "copy", this::copy);
    }

    // ---- running -------------------------------------------------------------------------------------------------

    private Answer execute(Exchange exchange) {
        ObjectNode body = exchange.body();
        Language language = Language.parse(body.path("language").asString("python"));
        String code = body.path("code").asString();
        Outcome<ExecuteResult> done = in(
                exchange,
                "execute",
                Optional.of(code),
                Access.RUN,
                session -> {
                    ExecuteRequest request = ExecuteRequest.of(
                                    language,
                                    code,
                                    Workspace.of(session.sandbox()).directory())
                            .withEnv(env(body))
                            .withTap(OutputEvents.to(exchange.events()));
                    if (body.has("timeout")) {
                        request = request.withTimeout(seconds(body));
                    }
                    return interpreter.execute(
                            session, settings, body.path("stateful").asBoolean(false) ? request.stateful() : request);
                },
                result -> result.run().exitCode());
        Map<String, Object> shown = show(done.value().run(), done);
        done.value().result().ifPresent(value -> shown.put("result", value));
        shown.put("restarted", done.value().restarted() || done.value().stateLost());
        return Answer.ok(shown);
    }

    private Answer bash(Exchange exchange) {
        ObjectNode body = exchange.body();
        String command = body.path("command").asString();
        if (JobApi.wanted(body)) {
            Call call = new Call(exchange, "bash", Optional.of(command), Access.RUN);
            return jobs.start(call, key(exchange), calls.defaults(), settings, session -> request(session, body));
        }
        Outcome<RunResult> done = in(
                exchange,
                "bash",
                Optional.of(command),
                Access.RUN,
                session -> runner.run(
                        session, settings, request(session, body).withTap(OutputEvents.to(exchange.events()))),
                RunResult::exitCode);
        return Answer.ok(show(done.value(), done));
    }

    private static RunRequest request(Session session, ObjectNode body) {
        Workspace workspace = Workspace.of(session.sandbox());
        String cwd = body.has("cwd")
                ? workspace.directory() + "/" + Workspace.path(body.path("cwd").asString())
                : workspace.directory();
        RunRequest request =
                RunRequest.bash(body.path("command").asString(), cwd).withEnv(env(body));
        if (body.has("timeout")) {
            request = request.withTimeout(seconds(body));
        }
        return body.path("changes").asBoolean(false) ? request.withChanges() : request;
    }

    static Map<String, Object> show(RunResult result, Outcome<?> outcome) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("success", result.ok());
        shown.put("stdout", result.stdout());
        shown.put("stderr", result.stderr());
        shown.put("exit_code", result.exitCode());
        shown.put("timed_out", result.timedOut());
        shown.put("duration_ms", result.duration().toMillis());
        shown.put("truncated", result.truncated());
        result.outputId().ifPresent(id -> shown.put("output_id", id));
        shown.put("limits_hit", limits(result));
        shown.put(
                "artifacts",
                outcome.artifacts().made().stream().map(ArtifactApi::show).toList());
        outcome.artifacts().note().ifPresent(note -> shown.put("artifacts_note", note));
        result.changes()
                .ifPresent(changes -> shown.put(
                        "changes",
                        changes.stream()
                                .map(change -> Map.of(
                                        "kind", change.kind().name().toLowerCase(Locale.ROOT),
                                        "path", change.path(),
                                        "size", change.size()))
                                .toList()));
        outcome.loss().ifPresent(sentence -> shown.put("loss", sentence));
        return shown;
    }

    static List<String> limits(RunResult result) {
        return result.limitsHit().stream()
                .map(Limit::name)
                .map(name -> name.toLowerCase(Locale.ROOT))
                .sorted()
                .toList();
    }

    private Answer output(Exchange exchange) {
        SessionKey key = SessionApi.key(
                exchange.caller(),
                Optional.empty(),
                exchange.query("session_id").orElseThrow());
        OutputStore.Stream stream = OutputStore.Stream.valueOf(
                exchange.query("stream").orElse("stdout").toUpperCase(Locale.ROOT));
        OutputStore.Page page = outputs.read(
                key,
                exchange.path("output_id"),
                stream,
                exchange.query("offset").map(Long::parseLong).orElse(0L),
                exchange.query("limit").map(Integer::parseInt).orElse(PAGE));
        return new Answer.Stream(
                "application/octet-stream",
                OptionalLong.of(page.bytes().length),
                Map.of("X-Total-Bytes", Long.toString(page.total())),
                out -> out.write(page.bytes()));
    }

    // ---- files ---------------------------------------------------------------------------------------------------

    private Answer read(Exchange exchange) {
        ObjectNode body = exchange.body();
        TextRead wanted = new TextRead(
                body.path("path").asString(),
                body.path("offset").asLong(1),
                body.path("limit").asInt(TextRead.DEFAULT_LIMIT));
        TextPage page = files(exchange, "read", Access.READ, wanted::run);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("content", page.content());
        shown.put("path", page.path());
        page.totalLines().ifPresent(total -> shown.put("total_lines", total));
        shown.put("start_line", page.startLine());
        shown.put("end_line", page.endLine());
        shown.put("has_more", page.hasMore());
        shown.put("truncated", page.truncated());
        shown.put("encoding", page.encoding());
        return Answer.ok(shown);
    }

    private Answer readBinary(Exchange exchange) {
        ObjectNode body = exchange.body();
        BinaryRead wanted = new BinaryRead(
                body.path("path").asString(), body.path("max_bytes").asLong(BinaryRead.DEFAULT_BYTES));
        BinaryRead.Content content = files(exchange, "read_binary", Access.READ, wanted::run);
        return Answer.ok(Map.of(
                "path", content.path(),
                "content_base64", content.base64(),
                "mime_type", content.mimeType(),
                "size", content.size(),
                "sha256", content.sha256()));
    }

    private Answer write(Exchange exchange) {
        ObjectNode body = exchange.body();
        FileWrite.Encoding encoding =
                FileWrite.Encoding.parse(body.path("encoding").asString("utf-8"));
        FileWrite wanted = new FileWrite(
                body.path("path").asString(),
                encoding.decode(body.path("content").asString()),
                body.path("append").asBoolean(false),
                OptionalInt.empty());
        FileWrite.Written written = files(exchange, "write", Access.WRITE, wanted::run);
        return Answer.ok(
                Map.of("path", written.path(), "bytes_written", written.bytesWritten(), "created", written.created()));
    }

    private Answer grep(Exchange exchange) {
        ObjectNode body = exchange.body();
        Grep wanted = new Grep(
                body.path("pattern").asString(),
                body.path("path").asString(Workspace.TOP),
                optional(body, "glob"),
                Grep.Mode.parse(body.path("output_mode").asString("files_with_matches")),
                body.path("case_insensitive").asBoolean(false),
                body.path("context_before").asInt(0),
                body.path("context_after").asInt(0),
                body.path("max_results").asInt(Grep.DEFAULT_RESULTS),
                body.path("offset").asInt(0),
                body.path("fixed_strings").asBoolean(false),
                body.path("multiline").asBoolean(false));
        Grep.Found found = files(exchange, "grep", Access.READ, wanted::run);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("matches", found.matches());
        shown.put("files", found.files());
        shown.put("counts", found.counts());
        shown.put("truncated", found.truncated());
        found.nextOffset().ifPresent(next -> shown.put("next_offset", next));
        return Answer.ok(shown);
    }

    private Answer glob(Exchange exchange) {
        ObjectNode body = exchange.body();
        List<String> exclude = new ArrayList<>();
        body.path("exclude").forEach(pattern -> exclude.add(pattern.asString()));
        Glob wanted = new Glob(
                body.path("pattern").asString(),
                body.path("path").asString(Workspace.TOP),
                exclude,
                body.path("include_hidden").asBoolean(false),
                body.path("max_results").asInt(Glob.DEFAULT_LIMIT),
                body.path("offset").asInt(0),
                Glob.Sort.parse(body.path("sort_by").asString("mtime")));
        Glob.Found found = files(exchange, "glob", Access.READ, wanted::run);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put(
                "files",
                found.files().stream()
                        .map(match -> Map.of("path", match.path(), "size", match.size(), "mtime", match.modifiedAt()))
                        .toList());
        shown.put("total", found.total());
        shown.put("truncated", found.truncated());
        found.nextOffset().ifPresent(next -> shown.put("next_offset", next));
        return Answer.ok(shown);
    }

    private Answer copy(Exchange exchange) {
        SessionKey key =
                SessionApi.key(exchange.caller(), Optional.of(exchange.path("tenant_id")), exchange.path("session_id"));
        Call call = new Call(exchange, "copy", Optional.empty(), Access.WRITE);
        FileCopy.Copied copied = calls.in(
                        key, calls.defaults(), call, session -> copy(exchange, Workspace.of(session.sandbox())), _ -> 0)
                .value();
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("written", copied.written());
        shown.put("bytes", copied.bytes());
        shown.put("refused", copied.refused());
        shown.put(
                "errors",
                copied.errors().stream()
                        .map(refused -> Map.of(
                                "path",
                                refused.path(),
                                "code",
                                refused.code().wireName(),
                                "message",
                                refused.message()))
                        .toList());
        copied.stopped().ifPresent(why -> shown.put("stopped", why.message()));
        return Answer.ok(shown);
    }

    private static FileCopy.Copied copy(Exchange exchange, Workspace workspace) {
        if (!exchange.isJson()) {
            return FileCopy.tar(workspace, exchange.stream(), FileCopy.Limits.DEFAULT);
        }
        List<FileCopy.Source> sources = new ArrayList<>();
        for (JsonNode file : exchange.body().path("files")) {
            if (file.has("content") == file.has("content_base64")) {
                throw SandboxException.invalid("file '" + file.path("path").asString()
                        + "' has to have content or content_base64, one of them");
            }
            byte[] bytes = file.has("content")
                    ? FileWrite.Encoding.parse("utf-8")
                            .decode(file.path("content").asString())
                    : FileWrite.Encoding.parse("base64")
                            .decode(file.path("content_base64").asString());
            OptionalInt mode = file.has("mode")
                    ? OptionalInt.of(Integer.parseInt(file.path("mode").asString(), 8))
                    : OptionalInt.empty();
            sources.add(new FileCopy.Source(file.path("path").asString(), bytes, mode));
        }
        return FileCopy.files(workspace, sources, FileCopy.Limits.DEFAULT);
    }

    // ---- what they have in common --------------------------------------------------------------------------------

    private <T> T files(Exchange exchange, String what, Access access, Function<Workspace, T> work) {
        return in(
                        exchange,
                        what,
                        Optional.empty(),
                        access,
                        session -> work.apply(Workspace.of(session.sandbox())),
                        _ -> 0)
                .value();
    }

    private <T> Outcome<T> in(
            Exchange exchange,
            String what,
            Optional<String> text,
            Access access,
            Function<Session, T> work,
            java.util.function.ToIntFunction<T> exit) {
        return calls.in(key(exchange), calls.defaults(), new Call(exchange, what, text, access), work, exit);
    }

    private static SessionKey key(Exchange exchange) {
        ObjectNode body = exchange.body();
        return SessionApi.key(
                exchange.caller(),
                optional(body, "tenant_id"),
                body.path("session_id").asString());
    }

    static Optional<String> optional(ObjectNode body, String field) {
        @Nullable JsonNode value = body.get(field);
        return value == null ? Optional.empty() : Optional.of(value.asString());
    }

    static Duration seconds(ObjectNode body) {
        return Duration.ofMillis(Math.round(body.path("timeout").asDouble() * 1000));
    }

    static Map<String, String> env(ObjectNode body) {
        Map<String, String> env = new LinkedHashMap<>();
        body.path("env")
                .properties()
                .forEach(entry -> env.put(entry.getKey(), entry.getValue().asString()));
        return env;
    }
}
