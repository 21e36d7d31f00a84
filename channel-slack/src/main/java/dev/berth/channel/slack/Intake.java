package dev.berth.channel.slack;

import com.slack.api.app_backend.interactive_components.payload.BlockActionPayload;
import com.slack.api.app_backend.slash_commands.payload.SlashCommandPayload;
import com.slack.api.bolt.App;
import com.slack.api.bolt.AppConfig;
import com.slack.api.bolt.context.builtin.SlashCommandContext;
import com.slack.api.bolt.request.Request;
import com.slack.api.bolt.request.RequestType;
import com.slack.api.bolt.response.Response;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Inbox;
import dev.berth.channel.Incoming;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What people do in Slack, told to the inbox. Bolt reads the requests. A message is acknowledged when it is written down,
 * everything else before anything is done about it, as Slack waits for three seconds and then sends it again.
 */
final class Intake implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Intake.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** More at a time than that are not acknowledged, so that Slack brings them again later. */
    private static final int MOST = 256;

    /** Slack sends again what is not acknowledged within three seconds. */
    private static final Duration WRITING = Duration.ofSeconds(2);

    private static final int COMMAND_LENGTH = 200;
    /** Slash commands do not work in threads, so there they are written with this in front. */
    private static final Pattern COMMAND = Pattern.compile("!(status|stop|reset|rollback|fork|files|jobs|help)\\b.*");
    /** With any other, a message is no new one: an edit, a deletion, somebody who joined. */
    private static final Set<String> SUBTYPES = Set.of("", "file_share", "thread_broadcast");

    private static final List<String> SUGGESTED = List.of(
            "What can you do?",
            "Look at the files I attach and sum them up",
            "Write a small web page and show me a picture of it");

    /** Something to be done about a request. */
    private interface Work {
        void run() throws InterruptedException, IOException;
    }

    private final SlackApi api;
    private final Workspaces workspaces;
    private final Uploads uploads;
    private final Pace pace;
    private final Inbox inbox;
    private final People people;
    private final Remembered<String, Boolean> seen;
    private final AppConfig appConfig;
    private final App app;
    private final Semaphore room = new Semaphore(MOST);
    private final ExecutorService threads = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("slack-", 0).factory());

    Intake(SlackApi api, Workspaces workspaces, Uploads uploads, Pace pace, Inbox inbox, InstantSource clock) {
        this.api = api;
        this.workspaces = workspaces;
        this.uploads = uploads;
        this.pace = pace;
        this.inbox = inbox;
        this.people = new People(api, clock);
        this.seen = new Remembered<>(10_000, Duration.ofHours(1), clock);
        this.appConfig = AppConfig.builder()
                .slack(api.slack())
                .singleTeamBotToken(null)
                .signingSecret(null)
                .clientId(null)
                .clientSecret(null)
                .build();
        // Without Bolt's own steps: they ask Slack whose the token is before a request is acknowledged.
        this.app = new App(appConfig, new ArrayList<>());
        app.use((request, _, chain) ->
                request.getRequestType() == RequestType.Event ? event(request) : chain.next(request));
        app.command(Pattern.compile(".*"), (request, context) -> {
            SlashCommandPayload command = request.getPayload();
            return accepted(() -> command(command, context)) ? context.ack() : busy();
        });
        app.blockAction(Pattern.compile(".*"), (request, context) -> {
            BlockActionPayload press = request.getPayload();
            return accepted(() -> pressed(press)) ? context.ack() : busy();
        });
        app.start();
    }

    /** Asks who the bot is before anybody waits for it; a token that is not valid is in the log from the start. */
    void prepare() {
        accepted(workspaces::own);
    }

    AppConfig appConfig() {
        return appConfig;
    }

    Response run(Request<?> request) throws Exception {
        return app.run(request);
    }

    private static Response busy() {
        return Response.error(503);
    }

    private boolean accepted(Work work) {
        if (!room.tryAcquire()) {
            LOG.warn("too much comes from Slack at a time; it has to come again");
            return false;
        }
        threads.execute(() -> {
            try {
                work.run();
            } catch (InterruptedException e) {
                LOG.info("stopped while something from Slack was looked at");
            } catch (IOException | RuntimeException e) {
                LOG.warn("something from Slack could not be dealt with", e);
            } finally {
                room.release();
            }
        });
        return true;
    }

    private Response event(Request<?> request) throws InterruptedException {
        JsonNode envelope = JSON.readTree(request.getRequestBodyAsString());
        String team = envelope.path("team_id").asString("");
        JsonNode event = envelope.path("event");
        String id = envelope.path("event_id").asString("");
        CountDownLatch done = new CountDownLatch(1);
        boolean taken = accepted(() -> {
            try {
                event(team, id, event);
            } finally {
                done.countDown();
            }
        });
        if (!taken) {
            return busy();
        }
        if (said(event)) {
            // What is acknowledged does not come again, so it is better written down by then.
            boolean _ = done.await(WRITING.toMillis(), TimeUnit.MILLISECONDS);
        }
        return Response.ok();
    }

    private static boolean said(JsonNode event) {
        String type = event.path("type").asString("");
        return type.equals("app_mention") || type.equals("message");
    }

    private void event(String team, String id, JsonNode event) throws InterruptedException {
        String type = event.path("type").asString("");
        if (said(event)) {
            message(team, event, type.equals("app_mention"));
            return;
        }
        if (!seen.add(id, true)) {
            return;
        }
        switch (type) {
            case "assistant_thread_started" -> greet(team, event.path("assistant_thread"));
            case "app_home_opened" -> home(team, event);
            case "app_uninstalled" -> workspaces.remove(team);
            case "tokens_revoked" -> {
                if (!event.path("tokens").path("bot").isEmpty()) {
                    workspaces.remove(team);
                }
            }
            default -> LOG.debug("nothing is done about {}", type);
        }
    }

    private void message(String team, JsonNode event, boolean mention) throws InterruptedException {
        String user = event.path("user").asString("");
        String channel = event.path("channel").asString("");
        String ts = event.path("ts").asString("");
        boolean person = !user.isEmpty() && !event.has("bot_id") && !event.has("bot_profile");
        // One that says it was edited is not new: Slack sends a mention again when somebody edits it.
        if (!person || !SUBTYPES.contains(event.path("subtype").asString("")) || event.has("edited")) {
            return;
        }
        Optional<Workspace> found = workspaces.find(team);
        if (found.isEmpty() || found.get().botUser().equals(user)) {
            return;
        }
        Workspace workspace = found.get();
        String text = event.path("text").asString("");
        boolean direct = Spot.direct(channel);
        boolean mentioned =
                text.contains("<@" + workspace.botUser() + ">") || text.contains("<@" + workspace.botUser() + "|");
        if (!mention && !direct && mentioned) {
            return; // it comes as a mention too
        }
        String inThread = event.path("thread_ts").asString("");
        String thread = inThread.isEmpty() && !direct ? ts : inThread;
        Place place = Places.of(team, channel, thread, user);
        if (!mention && !direct && (inThread.isEmpty() || !inbox.knows(place))) {
            return;
        }
        Spot spot = new Spot(channel, thread, ts);
        Writer writer = new Writer(api, pace, workspace, spot);
        try {
            take(writer, place, people.of(workspace, user), event, text);
        } catch (ChannelException e) {
            throw e; // which cannot be told there
        } catch (RuntimeException e) {
            LOG.warn("a message from Slack was not taken", e);
            writer.whisper(
                    user,
                    ":warning: Something went wrong here, and your message was not taken. Say it again in a moment.");
        }
    }

    private void take(Writer writer, Place place, Person person, JsonNode event, String text)
            throws InterruptedException {
        String said = new Spoken(people, writer.workspace).read(text);
        List<Incoming.Attachment> files = new ArrayList<>();
        for (JsonNode file : event.path("files")) {
            files.add(SlackFile.of(api, workspaces, uploads, writer.workspace.team(), file));
        }
        if (files.isEmpty() && COMMAND.matcher(said).matches()) {
            String answer = inbox.command(place, person, Letters.shorten(said.substring(1), COMMAND_LENGTH));
            writer.whisper(person.id(), Mrkdwn.of(Letters.shorten(answer, Cut.MOST)));
            return;
        }
        if (said.isEmpty() && files.isEmpty()) {
            writer.whisper(person.id(), "Tell me what to do, in the same message as the mention.");
            return;
        }
        Inbox.Received received = inbox.message(new Incoming(
                place, person, writer.spot.channel() + ":" + writer.spot.message(), said, files, writer.spot.json()));
        switch (received) {
            case NOT_ALLOWED ->
                writer.whisper(
                        person.id(), "You may not use me here. Ask whoever runs Berth to allow you, or this channel.");
            case TOO_MANY ->
                writer.whisper(person.id(), "You have asked a lot in a short time. Wait a minute, then ask again.");
            case BEGUN, STEERED, KNOWN -> {}
        }
    }

    private void greet(String team, JsonNode thread) throws InterruptedException {
        Optional<Workspace> workspace = workspaces.find(team);
        if (workspace.isEmpty()) {
            return;
        }
        Spot spot = new Spot(
                thread.path("channel_id").asString(""), thread.path("thread_ts").asString(""), "");
        new Writer(api, pace, workspace.get(), spot)
                .post(Letter.of("Hello! This thread has a computer of its own. What shall I do with it?"), Map.of());
        List<Map<String, String>> prompts = SUGGESTED.stream()
                .map(prompt -> Map.of("title", prompt, "message", prompt))
                .toList();
        api.need(
                workspace.get(),
                "assistant.threads.setSuggestedPrompts",
                Map.of(
                        "channel_id", spot.channel(),
                        "thread_ts", spot.thread(),
                        "prompts", JSON.writeValueAsString(prompts)));
    }

    private void home(String team, JsonNode event) throws InterruptedException {
        Optional<Workspace> workspace = workspaces.find(team);
        if (workspace.isEmpty() || !event.path("tab").asString("home").equals("home")) {
            return;
        }
        Person person = people.of(workspace.get(), event.path("user").asString(""));
        String view = Letters.home(inbox.overview(SlackChannel.NAME, team, person));
        api.need(workspace.get(), "views.publish", Map.of("user_id", person.id(), "view", view));
    }

    private void command(SlashCommandPayload command, SlashCommandContext context)
            throws InterruptedException, IOException {
        Optional<Workspace> workspace = workspaces.find(command.getTeamId());
        if (workspace.isEmpty()) {
            return;
        }
        Person person = people.of(workspace.get(), command.getUserId());
        Place place = Places.of(command.getTeamId(), command.getChannelId(), "", command.getUserId());
        String text = Optional.ofNullable(command.getText()).orElse("").strip();
        String answer;
        try {
            answer = Mrkdwn.of(inbox.command(place, person, Letters.shorten(text, COMMAND_LENGTH)));
        } catch (RuntimeException e) {
            LOG.warn("a command from Slack could not be done", e);
            answer = ":warning: Something went wrong here. Try it again in a moment.";
        }
        String said = Letters.shorten(answer, Cut.MOST);
        context.respond(response -> response.responseType("ephemeral").text(said));
    }

    private void pressed(BlockActionPayload press) throws InterruptedException {
        BlockActionPayload.Container container = press.getContainer();
        if (press.getTeam() == null
                || container == null
                || container.getChannelId() == null
                || press.getActions().isEmpty()) {
            return;
        }
        String team = press.getTeam().getId();
        Optional<Workspace> workspace = workspaces.find(team);
        if (workspace.isEmpty()) {
            return;
        }
        Person person = people.of(workspace.get(), press.getUser().getId());
        String thread = Optional.ofNullable(container.getThreadTs()).orElse("");
        Place place = Places.of(team, container.getChannelId(), thread, person.id());
        Spot spot = new Spot(container.getChannelId(), thread, "");
        String answer;
        try {
            answer = decided(press.getActions().getFirst(), place, person);
        } catch (RuntimeException e) {
            LOG.warn("a button in Slack did not work", e);
            answer = ":warning: Something went wrong here. Press it again in a moment.";
        }
        if (!answer.isBlank()) {
            new Writer(api, pace, workspace.get(), spot).whisper(person.id(), answer);
        }
    }

    private String decided(BlockActionPayload.Action action, Place place, Person person) {
        String value = Optional.ofNullable(action.getValue()).orElse("");
        return switch (Optional.ofNullable(action.getActionId()).orElse("")) {
            case Letters.STOP ->
                inbox.stop(place, person) ? "" : "There is nothing to stop here any more, or you may not stop it.";
            case Letters.ONCE -> Mrkdwn.of(inbox.decide(place, value, person, Inbox.Answer.ONCE));
            case Letters.ALWAYS -> Mrkdwn.of(inbox.decide(place, value, person, Inbox.Answer.ALWAYS));
            case Letters.DENY -> Mrkdwn.of(inbox.decide(place, value, person, Inbox.Answer.DENY));
            default -> "";
        };
    }

    /** Lets what has been acknowledged come to its end. */
    @Override
    public void close() {
        threads.shutdown();
        try {
            if (!threads.awaitTermination(10, TimeUnit.SECONDS)) {
                threads.shutdownNow();
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
        app.stop();
    }
}
