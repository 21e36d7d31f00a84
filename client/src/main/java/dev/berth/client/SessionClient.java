package dev.berth.client;

import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** One session by its name. The first call that works in it makes it, if it is not there. */
public final class SessionClient {
    private static final String BYTES = "application/octet-stream";
    private static final int MOST_ARTIFACTS = 1000;

    private final BerthClient berth;
    private final String id;

    SessionClient(BerthClient berth, String id) {
        this.berth = berth;
        this.id = id;
    }

    public String id() {
        return id;
    }

    // ---- running things ------------------------------------------------------------------------------------------

    public RunResult bash(String command) {
        return bash(BashCall.of(command));
    }

    public RunResult bash(BashCall call) {
        return RunResult.of(berth.json(Call.post("/v1/sandbox/bash", inSession(call.body()))));
    }

    /** Runs a command whose output is to be had while it runs. */
    public CallStream stream(BashCall call) {
        return streamed(Call.post("/v1/sandbox/bash", inSession(call.body())));
    }

    /** Starts a command that outlives this call. If a person has to allow it first, that is not waited for. */
    public StartedJob background(BashCall call) {
        Call start = Call.create("/v1/sandbox/bash", inSession(call.body()).with("background", true));
        return StartedJob.of(berth.json(start.header("Prefer", "respond-async")));
    }

    public RunResult execute(ExecuteCall call) {
        return RunResult.of(berth.json(Call.post("/v1/sandbox/execute", inSession(call.body()))));
    }

    /** Executes code whose output is to be had while it runs. */
    public CallStream stream(ExecuteCall call) {
        return streamed(Call.post("/v1/sandbox/execute", inSession(call.body())));
    }

    /** Calls any tool as a model does: what the input is the reason of is in the result, and no exception. */
    public RunResult tool(String name, Json input) {
        return RunResult.of(berth.json(Call.post("/v1/tools/" + Call.encode(name), inSession(input))));
    }

    private CallStream streamed(Call call) {
        return new CallStream(berth.send(call.header("Accept", Call.EVENTS + ", application/json;q=0.5")));
    }

    private Json inSession(Json body) {
        return body.with("session_id", id).with("tenant_id", berth.tenant());
    }

    // ---- files ---------------------------------------------------------------------------------------------------

    /** The first lines of a text file. */
    public FileText read(String path) {
        return FileText.of(
                berth.json(Call.post("/v1/sandbox/read", inSession(Json.object().with("path", path)))));
    }

    /** @param offset the first line, counted from 1 */
    public FileText read(String path, long offset, int limit) {
        Json body = Json.object().with("path", path).with("offset", offset).with("limit", limit);
        return FileText.of(berth.json(Call.post("/v1/sandbox/read", inSession(body))));
    }

    public void write(String path, String content) {
        Json body = Json.object().with("path", path).with("content", content);
        berth.json(Call.post("/v1/sandbox/write", inSession(body)));
    }

    /** Replaces a text by another, literally. It has to be there once, unless all of them are meant. */
    public RunResult edit(String path, String before, String after, boolean all) {
        Json input = Json.object()
                .with("file_path", path)
                .with("old_string", before)
                .with("new_string", after)
                .with("replace_all", all);
        return tool("edit", input);
    }

    /** Files by a pattern such as {@code src/**.py}, the most recently changed first. */
    public FoundFiles glob(String pattern) {
        return glob(Json.object().with("pattern", pattern));
    }

    /** @param request by the names that the API has */
    public FoundFiles glob(Json request) {
        return FoundFiles.of(berth.json(Call.post("/v1/sandbox/glob", inSession(request))));
    }

    /** @param request by the names that the API has; {@code pattern} is the one that is needed */
    public Json grep(Json request) {
        return berth.json(Call.post("/v1/sandbox/grep", inSession(request)));
    }

    /** A file as it is, of any size. To be closed. */
    public InputStream download(String path) {
        return berth.stream(files(Call.get("/v1/sandbox/files"), path));
    }

    /** Makes or replaces a file, of any size. */
    public void upload(String path, Path file) {
        berth.json(files(Call.put("/v1/sandbox/files", new Call.Body.File(file, BYTES)), path));
    }

    /** Makes or replaces a file; the stream is read to its end and closed. */
    public void upload(String path, InputStream content) {
        berth.json(files(Call.put("/v1/sandbox/files", new Call.Body.Stream(content, BYTES)), path));
    }

    private Call files(Call call, String path) {
        return call.query("session_id", id).query("path", path);
    }

    /** Writes all files of a tar stream below the workspace; the stream is closed. What is refused is in the result. */
    public CopyResult copy(InputStream tar) {
        // The path has the tenant in it, which a key of a tenant need not know; making it tells, and is needed anyway.
        String tenant =
                berth.tenant().orElseGet(() -> berth.make(NewSession.named(id)).tenant());
        String path = "/v1/sandbox/sessions/" + Call.encode(tenant) + "/" + Call.encode(id) + "/copy";
        return CopyResult.of(berth.json(Call.post(path, new Call.Body.Stream(tar, "application/x-tar"))));
    }

    /** Gives it a file that a person attached, under a name that is made safe if it has to be. */
    public Upload attach(String name, Path file) {
        Call call = Call.post(path("/uploads"), new Call.Body.File(file, BYTES)).query("name", name);
        return Upload.of(berth.json(call));
    }

    // ---- its agent -----------------------------------------------------------------------------------------------

    /** Says something to its agent, and follows what comes of it. To be closed, which leaves the agent working. */
    public RunStream prompt(String text) {
        return prompt(text, List.of());
    }

    /** @param files given along with it; they are put into {@code uploads/} of the workspace */
    public RunStream prompt(String text, List<Path> files) {
        Call.Body body = files.isEmpty()
                ? new Call.Body.Text(Json.object().with("text", text))
                : new Call.Body.Form(UUID.randomUUID().toString(), Map.of("text", text), List.copyOf(files));
        return new RunStream(berth, Call.create(path("/prompt"), body), path("/runs/"));
    }

    /** What happens in a run, from its beginning on. To be closed. */
    public RunStream follow(String run) {
        return new RunStream(berth, Call.get(path("/runs/" + Call.encode(run) + "/events")), path("/runs/"));
    }

    /** What its agent has done and does, the newest first. */
    public List<AgentRun> runs(int limit) {
        return berth.list(Call.get(path("/runs")).query("limit", limit), "runs", AgentRun::of);
    }

    public AgentRun run(String run) {
        return AgentRun.of(berth.json(Call.get(path("/runs/" + Call.encode(run)))));
    }

    /** Says something to the run that goes on; a conflict if there is none. */
    public AgentRun steer(String text) {
        return AgentRun.of(berth.json(Call.post(path("/steer"), Json.object().with("text", text))));
    }

    /** Ends the run that goes on. Returns whether there was one. */
    public boolean abort() {
        return berth.json(Call.post(path("/abort"))).get("aborted").truth();
    }

    /** What was said, by people and by the agent: objects with {@code by} and {@code text}, in their order. */
    public List<Json> history(int limit) {
        return berth.list(Call.get(path("/history")).query("limit", limit), "messages", said -> said);
    }

    /** Ends its agent and forgets the conversation; files stay. */
    public void resetAgent() {
        berth.done(Call.post(path("/agent/reset")));
    }

    /** Which agent it has: what was chosen for it ({@code own}), and what counts ({@code effective}). */
    public Json agent() {
        return berth.json(Call.get(path("/agent")));
    }

    /** @param choice by the names that the API has; what it has not is as the tenant has it */
    public Json agent(Json choice) {
        return berth.json(Call.put(path("/agent"), choice));
    }

    // ---- its life ------------------------------------------------------------------------------------------------

    public SessionInfo info() {
        return SessionInfo.of(berth.json(Call.get(path(""))));
    }

    /** With what it uses now. */
    public SessionInfo infoWithUsage() {
        return SessionInfo.of(berth.json(Call.get(path("")).query("usage", true)));
    }

    /** @param change its {@code pinned}, {@code limits} or {@code idle}, by the names that the API has */
    public SessionInfo change(Json change) {
        return SessionInfo.of(berth.json(Call.patch(path(""), change)));
    }

    /** Whether it stays up when nobody uses it. */
    public SessionInfo pin(boolean pinned) {
        return change(Json.object().with("pinned", pinned));
    }

    /** What it may reach, by the names that the API has. */
    public Json network() {
        return berth.json(Call.get(path("/network")));
    }

    /** Changes what it may reach, at once: what is closed to it now is cut off. */
    public Json network(Json network) {
        return berth.json(Call.put(path("/network"), network));
    }

    /** Removes its computer and everything on it. */
    public void delete() {
        berth.done(Call.delete(path("")));
    }

    /** Freezes its processes; memory is kept. */
    public SessionInfo pause() {
        return action("/pause");
    }

    /** Brings it up. */
    public SessionInfo resume() {
        return action("/resume");
    }

    /** Ends its processes; files are kept. */
    public SessionInfo stop() {
        return action("/stop");
    }

    /** Packs its files away until it is asked for again. */
    public SessionInfo archive() {
        return action("/archive");
    }

    private SessionInfo action(String name) {
        return SessionInfo.of(berth.json(Call.post(path(name))));
    }

    /** The newest first. */
    public List<Checkpoint> checkpoints() {
        return berth.list(Call.get(path("/checkpoints")), "checkpoints", Checkpoint::of);
    }

    /** Keeps its files as they are now. */
    public Checkpoint checkpoint(Optional<String> name) {
        return Checkpoint.of(
                berth.json(Call.create(path("/checkpoints"), Json.object().with("name", name))));
    }

    /** Keeps its files as they are now for other sessions to be made from, until that is deleted. */
    public KeptCheckpoint keep(Optional<String> name) {
        return KeptCheckpoint.of(berth.json(
                Call.create("/v1/checkpoints", inSession(Json.object().with("name", name)))));
    }

    /** Puts its files back to how they were before a turn; its processes are ended. */
    public SessionInfo rollback(long turn) {
        return SessionInfo.of(
                berth.json(Call.post(path("/rollback"), Json.object().with("turn", turn))));
    }

    /**
     * Starts another session with its files.
     *
     * @param name of the new one; the server chooses one if it is empty
     * @param turn as they were before it; as they are now if it is empty
     */
    public SessionInfo fork(Optional<String> name, Optional<Long> turn) {
        Json body = Json.object().with("session_id", name).with("turn", turn);
        return SessionInfo.of(berth.json(Call.create(path("/fork"), body)));
    }

    // ---- what happens in it --------------------------------------------------------------------------------------

    /** What happened behind the event of this number, 0 for all, and then what happens. To be closed. */
    public EventStream events(long after) {
        return new EventStream(berth, Call.get(path("/events")), after, true);
    }

    /** What has happened behind the event of this number. */
    public List<SessionEvent> eventsUntilNow(long after) {
        List<SessionEvent> all = new ArrayList<>();
        Call call = Call.get(path("/events")).query("follow", false);
        try (EventStream events = new EventStream(berth, call, after, false)) {
            events.forEach(all::add);
        }
        return all;
    }

    /**
     * The newest first.
     *
     * @param state those in this state only
     */
    public List<Job> jobs(Optional<String> state, int limit) {
        Call call = Call.get(path("/jobs")).query("state", state).query("limit", limit);
        return berth.list(call, "jobs", Job::of);
    }

    /** All of them, the newest first. */
    public List<Artifact> artifacts() {
        List<Artifact> all = new ArrayList<>();
        Json page;
        do {
            Call call = Call.get(path("/artifacts")).query("limit", MOST_ARTIFACTS);
            page = berth.json(
                    all.isEmpty() ? call : call.query("before", all.getLast().id()));
            page.get("artifacts").items().stream().map(Artifact::of).forEach(all::add);
        } while (page.get("more").truth() && !page.get("artifacts").items().isEmpty());
        return all;
    }

    // ---- terminals -----------------------------------------------------------------------------------------------

    public List<Json> terminals() {
        return berth.list(Call.get(path("/terminals")), "terminals", terminal -> terminal);
    }

    /** Attaches to a terminal, which is made if it is not there. To be closed, which leaves the terminal running. */
    public TerminalConnection terminal(String name, int cols, int rows) {
        return TerminalConnection.open(
                berth, terminalCall(name).query("cols", cols).query("rows", rows));
    }

    /** Attaches to a terminal to look on. */
    public TerminalConnection watch(String name) {
        return TerminalConnection.open(berth, terminalCall(name).query("watch", true));
    }

    /** Ends a terminal and what runs on it. */
    public void endTerminal(String name) {
        berth.done(Call.delete(path("/terminals/" + Call.encode(name))));
    }

    private Call terminalCall(String name) {
        return Call.get(path("/terminals/" + Call.encode(name))).query("tenant_id", berth.tenant());
    }

    private String path(String below) {
        return "/v1/sessions/" + Call.encode(id) + below;
    }
}
