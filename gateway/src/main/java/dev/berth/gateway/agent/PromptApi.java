package dev.berth.gateway.agent;

import dev.berth.agent.Past.Said;
import dev.berth.agent.run.Choices;
import dev.berth.agent.run.Message;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.Runs;
import dev.berth.gateway.api.SessionApi;
import dev.berth.gateway.api.Uploads;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.http.FormReader;
import dev.berth.gateway.http.Prefer;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.tool.ToolSettings;
import dev.berth.tool.Workspace;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Talking to the agent of a session. A message is kept before it is answered, and what comes of it is read from the
 * session's log: a client that goes away changes nothing, and whoever comes later sees the same.
 */
public final class PromptApi {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,15}");
    private static final int PAGE = 50;
    private static final int MOST_PERSON = 200;
    /** Bytes of a field of a form that is no file; a message of the most characters fits. */
    private static final int MOST_FIELD = 4 << 20;

    private static final int MOST_FIELDS = 200;

    private final Sessions sessions;
    private final Runs runs;
    private final Choices choices;
    private final Uploads uploads;
    private final ToolSettings settings;
    private final Duration heartbeat;

    /** @param settings of the server; a read-only one has no agents */
    public PromptApi(
            Sessions sessions, Runs runs, Choices choices, Uploads uploads, ToolSettings settings, Duration heartbeat) {
        this.sessions = sessions;
        this.runs = runs;
        this.choices = choices;
        this.uploads = uploads;
        this.settings = settings;
        this.heartbeat = heartbeat;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "prompt", this::say,
                "runs", this::list,
                "run", exchange -> Answer.ok(RunJson.show(run(exchange))),
                "runEvents", this::follow,
                "abortRun", this::abort,
                "steerRun", this::steer,
                "resetAgent", this::reset,
                "history", this::history);
    }

    // ---- saying something ----------------------------------------------------------------------------------------

    /** Answers with no more than which run it is, so that a repeated request can be answered with the same. */
    private Answer say(Exchange exchange) throws IOException {
        settings.requireWritable();
        SessionKey key = SessionApi.key(exchange);
        Choices.Choice choice = choices.of(key); // and so nothing is kept of what could never be done
        Run run = exchange.isJson() ? runs.say(key, message(exchange)) : sayForm(exchange, key, choice);
        return Answer.accepted(Map.of("run_id", run.id()));
    }

    /** The same, answered with what comes of it. */
    public Endpoint told(Endpoint say) {
        return exchange -> switch (say.answer(exchange)) {
            case Answer.Json json -> tell(exchange, String.valueOf(json.fields().get("run_id")), Map.of());
            case Answer.Raw raw
            when raw.status() < 300 ->
                tell(exchange, JSON.readTree(raw.body()).path("run_id").asString(), raw.headers());
            case Answer other -> other;
        };
    }

    private Answer tell(Exchange exchange, String id, Map<String, String> headers) throws InterruptedException {
        Run run = runs.find(id).orElseThrow(() -> SandboxException.gone("the run is not kept any more"));
        if (exchange.wantsEvents()) {
            return Answer.events(stream(run, before(run)));
        }
        Run now = runs.await(id, Prefer.wait(exchange));
        Answer.Json answer = new Answer.Json(now.state().ended() ? 200 : 202, RunJson.show(now));
        return headers.isEmpty()
                ? answer
                : new Answer.Raw(
                        answer.status(), "application/json", JSON.writeValueAsString(answer.fields()), headers);
    }

    private Message message(Exchange exchange) {
        List<String> files = new ArrayList<>();
        exchange.body().path("files").forEach(path -> files.add(Workspace.path(path.asString())));
        return message(
                exchange,
                exchange.body().path("text").asString(""),
                files,
                Optional.ofNullable(exchange.body().get("person")).map(JsonNode::asString));
    }

    private static Message message(Exchange exchange, String text, List<String> files, Optional<String> person) {
        return new Message(
                Plain.text(text),
                files,
                exchange.caller().name(),
                person.map(name -> Plain.line(name, MOST_PERSON).strip()).filter(name -> !name.isEmpty()));
    }

    private Run sayForm(Exchange exchange, SessionKey key, Choices.Choice choice) throws IOException {
        FormReader form =
                FormReader.of(exchange.stream(), exchange.header("Content-Type").orElse(""));
        String actor = exchange.caller().name();
        try (Attachments attachments = new Attachments(uploads, () -> sessions.resolve(key, choice.spec()), actor)) {
            String text = "";
            Optional<String> person = Optional.empty();
            List<String> files = new ArrayList<>();
            int fields = 0;
            for (Optional<FormReader.Part> next = next(form); next.isPresent(); next = next(form)) {
                FormReader.Part part = next.get();
                if (++fields > MOST_FIELDS) {
                    throw SandboxException.invalid("the form has more than " + MOST_FIELDS + " parts");
                } else if (part.file().isPresent()) {
                    attachments.add(part.file().get(), part.content());
                } else {
                    String value = value(part);
                    switch (part.name()) {
                        case "text" -> text = value;
                        case "person" -> person = Optional.of(value);
                        case "files" -> files.add(Workspace.path(value));
                        default ->
                            throw SandboxException.invalid("there is no field '" + Plain.line(part.name(), 100)
                                    + "' here; there are text, person, files, and files with a name");
                    }
                }
            }
            files.addAll(attachments.paths());
            Run run = runs.say(key, message(exchange, text, files, person));
            attachments.keep();
            return run;
        }
    }

    private static Optional<FormReader.Part> next(FormReader form) {
        try {
            return form.next();
        } catch (IOException e) {
            throw SandboxException.invalid(
                    "the body broke off before its end, so nothing of it was kept; send it again");
        }
    }

    private static String value(FormReader.Part part) throws IOException {
        try (InputStream content = part.content()) {
            byte[] bytes = content.readNBytes(MOST_FIELD + 1);
            if (bytes.length > MOST_FIELD) {
                throw SandboxException.limit("the field '" + Plain.line(part.name(), 100) + "' is larger than "
                                + MOST_FIELD + " bytes; put it into a file")
                        .with(SandboxException.LIMIT, "request_bytes")
                        .with(SandboxException.ALLOWED, MOST_FIELD);
            }
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private Answer steer(Exchange exchange) {
        settings.requireWritable();
        SessionKey key = known(exchange);
        if (runs.current(key).isEmpty()) {
            throw SandboxException.conflict("nothing runs in this session that could be steered; send a prompt");
        }
        return Answer.accepted(RunJson.show(runs.say(key, message(exchange))));
    }

    private Answer abort(Exchange exchange) {
        return Answer.ok(
                Map.of("aborted", runs.abort(known(exchange), exchange.caller().name())));
    }

    private Answer reset(Exchange exchange) {
        settings.requireWritable();
        runs.reset(known(exchange), exchange.caller().name());
        return Answer.done();
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    private Answer list(Exchange exchange) {
        SessionKey key = known(exchange);
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
        exchange.query("before").ifPresent(id -> run(key, id));
        return Answer.ok(Map.of(
                "runs",
                runs.list(key, exchange.query("before"), limit).stream()
                        .map(RunJson::show)
                        .toList()));
    }

    private Answer follow(Exchange exchange) {
        Run run = run(exchange);
        long after = exchange.header("Last-Event-ID")
                .map(PromptApi::number)
                .or(() -> exchange.query("after").map(Long::parseLong))
                .orElse(0L);
        return Answer.events(stream(run, Math.max(after, before(run))));
    }

    private static long number(String text) {
        if (!NUMBER.matcher(text).matches()) {
            throw SandboxException.invalid("Last-Event-ID has to be the id of an event of this run");
        }
        return Long.parseLong(text);
    }

    private static long before(Run run) {
        return Math.max(0, run.firstEvent() - 1);
    }

    private RunStream stream(Run run, long after) {
        return new RunStream(sessions, runs, heartbeat, run, after);
    }

    private Answer history(Exchange exchange) {
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
        return Answer.ok(Map.of(
                "messages",
                runs.history(known(exchange), limit).stream()
                        .map(PromptApi::show)
                        .toList()));
    }

    private static Map<String, Object> show(Said said) {
        return Map.of("by", said.byAgent() ? "agent" : "person", "text", said.text());
    }

    /** The session in the path, which is there, or will be as soon as its first run has begun. */
    private SessionKey known(Exchange exchange) {
        SessionKey key = SessionApi.key(exchange);
        return runs.list(key, Optional.empty(), 1).isEmpty()
                ? SessionApi.known(sessions, key).key()
                : key;
    }

    private Run run(Exchange exchange) {
        return run(SessionApi.key(exchange), exchange.path("run_id"));
    }

    private Run run(SessionKey key, String id) {
        return runs.find(id)
                .filter(run -> run.session().equals(key))
                .orElseThrow(() -> SandboxException.notFound("there is no such run in this session"));
    }
}
