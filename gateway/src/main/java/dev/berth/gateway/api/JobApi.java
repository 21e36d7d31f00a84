package dev.berth.gateway.api;

import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.job.Job;
import dev.berth.session.job.JobOutput;
import dev.berth.session.job.JobOutput.Chunk;
import dev.berth.session.job.JobRequest;
import dev.berth.session.job.JobState;
import dev.berth.session.job.Jobs;
import dev.berth.tool.RunRequest;
import dev.berth.tool.RunResult;
import dev.berth.tool.Runner;
import dev.berth.tool.ToolSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import tools.jackson.databind.node.ObjectNode;

/** Commands in the background: starting, looking at and stopping them. */
public final class JobApi {
    private static final int PAGE = 100;
    private static final String TOKEN = "x-job-token";

    private final Calls calls;
    private final Runner runner;
    private final Jobs jobs;

    public JobApi(Calls calls, Runner runner, Jobs jobs) {
        this.calls = calls;
        this.runner = runner;
        this.jobs = jobs;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "sessionJobs", this::listOfSession,
                "jobs", this::list,
                "job", this::get,
                "jobLogs", this::logs,
                "stopJob", this::stop,
                "completeJob", this::complete);
    }

    // ---- starting ------------------------------------------------------------------------------------------------

    static boolean wanted(ObjectNode input) {
        return input.path("background").asBoolean(false);
    }

    /** Starts a command in the background of a session and answers at once. */
    Answer start(
            Call call, SessionKey key, SessionSpec spec, ToolSettings settings, Function<Session, RunRequest> wanted) {
        Job job = calls.in(key, spec, call, session -> start(session, call, settings, wanted), _ -> 0)
                .value();
        call.exchange()
                .events()
                .event("job", Map.of("job_id", job.id(), "state", job.state().toString()));
        return Answer.accepted(Map.of(
                "ok",
                true,
                "job_id",
                job.id(),
                "resultId",
                job.id(),
                "state",
                job.state().toString(),
                "message",
                "It runs in the background; async_status with this resultId tells how it goes on."));
    }

    private Job start(Session session, Call call, ToolSettings settings, Function<Session, RunRequest> wanted) {
        RunRequest request = wanted.apply(session);
        if (request.changes()) {
            throw SandboxException.invalid(
                    "what a command in the background changes cannot be told; leave out changes or background");
        }
        return jobs.start(
                session,
                new JobRequest(
                        call.text().orElse(""),
                        runner.background(settings, request),
                        call.who(),
                        Optional.of(call.exchange().id())));
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    private Answer listOfSession(Exchange exchange) {
        SessionKey key = SessionApi.key(exchange);
        return show(jobs.list(key, state(exchange), limit(exchange)));
    }

    private Answer list(Exchange exchange) {
        return show(jobs.list(SessionApi.tenant(exchange), state(exchange), limit(exchange)));
    }

    private Answer get(Exchange exchange) {
        Job job = known(exchange);
        jobs.observed(job);
        return Answer.ok(show(job));
    }

    private Answer logs(Exchange exchange) {
        long after = exchange.query("after").map(Long::parseLong).orElse(0L);
        JobOutput output = jobs.output(known(exchange).id(), after, limit(exchange));
        if (output.complete()) {
            jobs.observed(output.job());
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("job_id", output.job().id());
        shown.put("state", output.job().state().toString());
        shown.put("chunks", output.chunks().stream().map(JobApi::show).toList());
        shown.put("next", output.next());
        shown.put("complete", output.complete());
        return Answer.ok(shown);
    }

    private Answer stop(Exchange exchange) {
        Job job = jobs.stop(known(exchange).id());
        jobs.observed(job);
        return Answer.ok(show(job));
    }

    /** One of the caller's; of another tenant's nothing is told, not even that it is there. */
    private Job known(Exchange exchange) {
        Optional<String> tenant = SessionApi.tenant(exchange);
        return jobs.find(exchange.path("job_id"))
                .filter(job -> tenant.isEmpty() || job.key().tenant().equals(tenant.get()))
                .orElseThrow(JobApi::unknown);
    }

    private static SandboxException unknown() {
        return SandboxException.notFound("there is no such job");
    }

    private static Optional<JobState> state(Exchange exchange) {
        return exchange.query("state").map(JobState::parse);
    }

    private static int limit(Exchange exchange) {
        return exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
    }

    private static Answer show(List<Job> found) {
        return Answer.ok(Map.of("jobs", found.stream().map(JobApi::show).toList()));
    }

    private static Map<String, Object> show(Job job) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("job_id", job.id());
        shown.put("tenant_id", job.key().tenant());
        shown.put("session_id", job.key().id());
        shown.put("state", job.state().toString());
        shown.put("command", job.command());
        shown.put("actor", job.actor());
        job.exitCode().ifPresent(code -> shown.put("exit_code", code));
        job.error().ifPresent(error -> shown.put("error", error));
        shown.put("created_at", job.createdAt());
        job.endedAt().ifPresent(at -> shown.put("ended_at", at));
        shown.put("output_bytes", job.outputBytes());
        shown.put("dropped_bytes", job.droppedBytes());
        return shown;
    }

    private static Map<String, Object> show(Chunk chunk) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("number", chunk.number());
        shown.put("stream", chunk.stream());
        shown.put("offset", chunk.offset());
        chunk.text()
                .ifPresentOrElse(
                        text -> shown.put("text", text),
                        () -> shown.put("base64", Base64.getEncoder().encodeToString(chunk.bytes())));
        return shown;
    }

    // ---- for models ----------------------------------------------------------------------------------------------

    /** The tool {@code async_status}. The session is not woken for it. */
    RunResult status(String tenant, Optional<SessionKey> session, ObjectNode input) {
        long began = System.nanoTime();
        Job job = jobs.find(input.path("resultId").asString())
                .filter(it -> it.key().tenant().equals(tenant))
                .filter(it -> session.isEmpty() || it.key().equals(session.get()))
                .orElseThrow(() -> SandboxException.notFound("there is no such job in this conversation"));
        String text = switch (input.path("action").asString("status")) {
            case "logs" -> logs(job, input.path("cursor").asLong(0));
            case "stop" -> sentence(jobs.stop(job.id()));
            default -> sentence(job);
        };
        return RunResult.text(text, Duration.ofNanos(System.nanoTime() - began));
    }

    private String sentence(Job job) {
        jobs.observed(job);
        StringBuilder text = new StringBuilder(job.id() + " is " + job.state());
        job.exitCode().ifPresent(code -> text.append(", exit code ").append(code));
        job.error().ifPresent(error -> text.append(": ").append(error));
        return text.append(". It printed ")
                .append(job.outputBytes())
                .append(" bytes.\n")
                .toString();
    }

    private String logs(Job job, long cursor) {
        JobOutput output = jobs.output(job.id(), cursor, PAGE);
        StringBuilder text = new StringBuilder();
        output.chunks().forEach(chunk -> text.append(new String(chunk.bytes(), StandardCharsets.UTF_8)));
        if (output.complete()) {
            jobs.observed(output.job());
        } else {
            text.append("[")
                    .append(output.job().state())
                    .append("; read on with cursor ")
                    .append(output.next())
                    .append("]\n");
        }
        return text.toString();
    }

    // ---- jobs that tell themselves -------------------------------------------------------------------------------

    private Answer complete(Exchange exchange) {
        String id = exchange.path("job_id");
        String token = exchange.header(TOKEN)
                .orElseThrow(() -> SandboxException.invalid("send the job's token in the header " + TOKEN));
        ObjectNode body = exchange.body();
        boolean completed = body.path("status").asString().equals("completed");
        int code = body.path("response").path("exitCode").asInt(completed ? 0 : 1);
        Optional<String> error = completed
                ? Optional.empty()
                : SandboxApi.optional(body, "error").or(() -> Optional.of("it told that it failed"));
        String logs = body.path("response").path("logs").asString("").replace("\0", "");
        return switch (jobs.report(id, token, code, error, logs)) {
            case ACCEPTED -> Answer.accepted(Map.of("status", "accepted", "resultId", id));
            case UNKNOWN -> throw unknown();
            case SETTLED -> throw SandboxException.conflict("this job is settled already");
        };
    }
}
