package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Slack, as far as an app can tell: its methods over HTTP, Socket Mode and signed requests, uploads and downloads. People
 * write, edit, attach and press buttons here, and what they would see can be read.
 */
public final class FakeSlack implements AutoCloseable {
    public static final String TEAM = "T0TEAM";
    public static final String BOT = "U0BOT";
    public static final String BOT_TOKEN = "xoxb-of-the-test";
    public static final String APP_TOKEN = "xapp-of-the-test";
    public static final String SIGNING_SECRET = "signing-secret-of-the-test";
    public static final String CLIENT_ID = "client.of.the.test";
    public static final String CLIENT_SECRET = "client-secret-of-the-test";

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int RETRIES = 3;

    /** A button in a message. */
    public record Button(String action, String label, String value) {}

    /** A file in a message. */
    public record Shown(String name, String title, byte[] content) {}

    /** A message as people see it. */
    public record Seen(String ts, String user, String text, List<Shown> files, List<Button> buttons) {
        public boolean bot() {
            return user.equals(BOT);
        }
    }

    /** A file that somebody attaches. */
    public record Attached(String name, String mimeType, byte[] content) {}

    /** Where requests go if there is no socket. */
    public interface Door {
        /** Returns the status of the answer. */
        int deliver(Map<String, List<String>> headers, byte[] body);
    }

    /** A message, as it is kept. Guarded by the FakeSlack. */
    static final class Post {
        String channel = "";
        String ts = "";
        String thread = "";
        String user = "";
        String text = "";
        JsonNode blocks = JSON.createArrayNode();
        JsonNode metadata = JSON.createObjectNode();
        final List<Stored> files = new ArrayList<>();
        final List<Long> changes = new ArrayList<>();
    }

    /** A file, as it is kept. */
    static final class Stored {
        final String id;
        final String name;
        final String mimeType;
        String title = "";
        byte[] content;

        Stored(String id, String name, String mimeType, byte[] content) {
            this.id = id;
            this.name = name;
            this.mimeType = mimeType;
            this.content = content;
        }
    }

    /** What somebody alone was told. */
    public record Whisper(String user, String channel, String thread, String text) {}

    private final Map<String, Post> posts = new LinkedHashMap<>();
    final Map<String, Stored> files = new HashMap<>();
    final Map<String, String> names = new HashMap<>(Map.of("U1", "Ada", "U2", "Bob"));
    final Map<String, String> statuses = new HashMap<>();
    final Map<String, JsonNode> homes = new HashMap<>();
    final Map<String, JsonNode> prompts = new HashMap<>();
    final List<Whisper> whispers = new ArrayList<>();
    /** Which workspace and bot a token is of. */
    final Map<String, String> tokens = new HashMap<>(Map.of(BOT_TOKEN, TEAM));

    private final FakeSlackApi api;
    private final FakeSlackSocket socket;
    private Optional<Door> door = Optional.empty();
    private long clock = 1_700_000_000_000_000L;
    private int ids;
    private Optional<JsonNode> lastEvent = Optional.empty();

    public FakeSlack() {
        socket = new FakeSlackSocket(this);
        api = new FakeSlackApi(this, socket);
    }

    /** What an app has for {@link SlackConfig#at}. */
    public URI api() {
        return api.address().resolve("/api/");
    }

    /** An app in Socket Mode, in the one workspace. */
    public SlackConfig socketConfig() {
        return SlackConfig.socket(APP_TOKEN, Optional.of(BOT_TOKEN), Optional.empty())
                .at(api());
    }

    /** An app that gets requests, in the one workspace. */
    public SlackConfig httpConfig() {
        return SlackConfig.http(SIGNING_SECRET, Optional.of(BOT_TOKEN), Optional.empty())
                .at(api());
    }

    /** Sends requests there from now on, and not over a socket. */
    public void sendTo(Door to) {
        door = Optional.of(to);
    }

    /** Sends requests to the server at this address from now on. */
    public void sendTo(URI address) {
        sendTo((headers, body) -> {
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(address).POST(HttpRequest.BodyPublishers.ofByteArray(body));
            headers.forEach((name, values) -> values.forEach(value -> request.header(name, value)));
            try (HttpClient client = HttpClient.newHttpClient()) {
                return client.send(request.build(), HttpResponse.BodyHandlers.discarding())
                        .statusCode();
            } catch (IOException | InterruptedException e) {
                throw new AssertionError("the app cannot be reached at " + address, e);
            }
        });
    }

    // What people do

    /** Somebody writes in a channel, or to the bot if that is a direct message. Returns the time stamp. */
    public String says(String user, String channel, String text, Attached... attached) {
        return says(user, channel, "", text, attached);
    }

    public String says(String user, String channel, String thread, String text, Attached... attached) {
        Post post = new Post();
        synchronized (this) {
            post.channel = channel;
            post.ts = now();
            post.thread = thread;
            post.user = user;
            post.text = text;
            for (Attached file : attached) {
                Stored stored = new Stored("F" + ++ids, file.name(), file.mimeType(), file.content());
                files.put(stored.id, stored);
                post.files.add(stored);
            }
            add(post);
        }
        events(post, false);
        return post.ts;
    }

    private void events(Post post, boolean edited) {
        if (post.text.contains("<@" + BOT + ">") && !post.channel.startsWith("D")) {
            ObjectNode mention = event(post, "app_mention");
            if (edited) {
                mention.putObject("edited").put("user", post.user).put("ts", post.ts);
            }
            send(TEAM, mention);
        }
        if (!edited) {
            ObjectNode message = event(post, "message");
            if (!post.files.isEmpty()) {
                message.put("subtype", "file_share");
            }
            send(TEAM, message);
        }
    }

    private ObjectNode event(Post post, String type) {
        ObjectNode event = JSON.createObjectNode()
                .put("type", type)
                .put("user", post.user)
                .put("text", post.text)
                .put("ts", post.ts)
                .put("event_ts", post.ts)
                .put("channel", post.channel)
                .put("channel_type", post.channel.startsWith("D") ? "im" : "channel");
        if (!post.thread.isEmpty()) {
            event.put("thread_ts", post.thread);
        }
        if (!post.files.isEmpty()) {
            var array = event.putArray("files");
            post.files.forEach(file -> array.addObject()
                    .put("id", file.id)
                    .put("name", file.name)
                    .put("mimetype", file.mimeType)
                    .put("size", file.content.length)
                    .put("mode", "hosted")
                    .put("url_private", download(file))
                    .put("url_private_download", download(file)));
        }
        return event;
    }

    String download(Stored file) {
        return api.address().resolve("/files/" + file.id).toString();
    }

    public void edits(String channel, String ts, String text) {
        Post post = post(channel, ts);
        ObjectNode before = event(post, "message");
        synchronized (this) {
            post.text = text;
        }
        ObjectNode changed = JSON.createObjectNode()
                .put("type", "message")
                .put("subtype", "message_changed")
                .put("hidden", true)
                .put("channel", channel)
                .put("channel_type", channel.startsWith("D") ? "im" : "channel")
                .put("ts", tick());
        changed.set("message", event(post, "message"));
        changed.set("previous_message", before);
        send(TEAM, changed);
        events(post, true);
    }

    public void deletes(String channel, String ts) {
        Post post = post(channel, ts);
        ObjectNode deleted = JSON.createObjectNode()
                .put("type", "message")
                .put("subtype", "message_deleted")
                .put("hidden", true)
                .put("channel", channel)
                .put("deleted_ts", ts)
                .put("ts", tick());
        deleted.set("previous_message", event(post, "message"));
        synchronized (this) {
            posts.remove(channel + "/" + ts);
        }
        send(TEAM, deleted);
    }

    /** Another app writes. */
    public String botSays(String channel, String thread, String text) {
        Post post = new Post();
        synchronized (this) {
            post.channel = channel;
            post.ts = now();
            post.thread = thread;
            post.user = "U0OTHER";
            post.text = text;
            add(post);
        }
        send(TEAM, event(post, "message").put("bot_id", "B0OTHER"));
        return post.ts;
    }

    /** Presses the button with this label. */
    public void presses(String user, String channel, String ts, String label) {
        Post post = post(channel, ts);
        Button button = seen(post).buttons().stream()
                .filter(one -> one.label().equals(label))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no button " + label + " in " + seen(post)));
        ObjectNode payload = JSON.createObjectNode()
                .put("type", "block_actions")
                .put("api_app_id", "A0APP")
                .put("token", "legacy")
                .put("trigger_id", "1.2.3")
                .put("response_url", response(user, channel));
        payload.putObject("team").put("id", TEAM).put("domain", "test");
        payload.putObject("user")
                .put("id", user)
                .put("username", user)
                .put("name", user)
                .put("team_id", TEAM);
        payload.putObject("channel").put("id", channel).put("name", "test");
        ObjectNode container = payload.putObject("container")
                .put("type", "message")
                .put("message_ts", ts)
                .put("channel_id", channel)
                .put("is_ephemeral", false);
        if (!post.thread.isEmpty()) {
            container.put("thread_ts", post.thread);
        }
        payload.putObject("message")
                .put("type", "message")
                .put("ts", ts)
                .put("user", BOT)
                .put("text", post.text);
        ObjectNode action = payload.putArray("actions").addObject();
        action.put("type", "button")
                .put("action_id", button.action())
                .put("block_id", "b")
                .put("value", button.value())
                .put("action_ts", ts);
        action.putObject("text").put("type", "plain_text").put("text", label);
        deliver("interactive", payload, "payload=" + URLEncoder.encode(payload.toString(), UTF_8));
    }

    /** Runs a slash command. */
    public void commands(String user, String channel, String command, String text) {
        ObjectNode payload = JSON.createObjectNode()
                .put("token", "legacy")
                .put("team_id", TEAM)
                .put("team_domain", "test")
                .put("channel_id", channel)
                .put("channel_name", "test")
                .put("user_id", user)
                .put("user_name", user)
                .put("command", command)
                .put("text", text)
                .put("api_app_id", "A0APP")
                .put("trigger_id", "1.2.3")
                .put("response_url", response(user, channel));
        String form = payload.properties().stream()
                .map(field -> field.getKey() + "="
                        + URLEncoder.encode(field.getValue().asString(), UTF_8))
                .collect(Collectors.joining("&"));
        deliver("slash_commands", payload, form);
    }

    private String response(String user, String channel) {
        return api.address().resolve("/response/" + user + "/" + channel).toString();
    }

    public void opensHome(String user) {
        send(
                TEAM,
                JSON.createObjectNode()
                        .put("type", "app_home_opened")
                        .put("user", user)
                        .put("channel", direct(user))
                        .put("tab", "home")
                        .put("event_ts", tick()));
    }

    /** Opens the assistant's panel. Returns the thread it begins. */
    public String opensPanel(String user) {
        Post root = new Post();
        synchronized (this) {
            root.channel = direct(user);
            root.ts = now();
            root.user = BOT;
            add(root);
            statuses.put(root.channel + "/" + root.ts, "");
        }
        ObjectNode event =
                JSON.createObjectNode().put("type", "assistant_thread_started").put("event_ts", root.ts);
        event.putObject("assistant_thread")
                .put("user_id", user)
                .put("channel_id", root.channel)
                .put("thread_ts", root.ts)
                .putObject("context");
        send(TEAM, event);
        return root.ts;
    }

    public void uninstalls(String team) {
        send(team, JSON.createObjectNode().put("type", "app_uninstalled"));
    }

    public static String direct(String user) {
        return "D" + user;
    }

    // What people see

    /** All that is in a thread, its first message too. */
    public synchronized List<Seen> thread(String channel, String ts) {
        return posts.values().stream()
                .filter(post -> post.channel.equals(channel) && (post.ts.equals(ts) || post.thread.equals(ts)))
                .map(FakeSlack::seen)
                .toList();
    }

    /** All that is in a channel outside of threads. */
    public synchronized List<Seen> channel(String channel) {
        return posts.values().stream()
                .filter(post -> post.channel.equals(channel) && post.thread.isEmpty())
                .map(FakeSlack::seen)
                .toList();
    }

    /** What the bot wrote in a thread. */
    public List<Seen> answers(String channel, String ts) {
        return thread(channel, ts).stream()
                .filter(seen -> seen.bot() && !seen.ts().equals(ts))
                .toList();
    }

    public List<Seen> awaitThread(String channel, String ts, Predicate<List<Seen>> condition) {
        return await(() -> thread(channel, ts), condition);
    }

    public synchronized List<Whisper> whispers() {
        return List.copyOf(whispers);
    }

    public Whisper awaitWhisper(String user) {
        return await(
                        () -> whispers().stream()
                                .filter(one -> one.user().equals(user))
                                .toList(),
                        found -> !found.isEmpty())
                .getLast();
    }

    public String awaitHome(String user) {
        return await(() -> Optional.ofNullable(homes.get(user)), Optional::isPresent)
                .orElseThrow()
                .toString();
    }

    public JsonNode awaitPrompts(String channel, String thread) {
        return await(() -> Optional.ofNullable(prompts.get(channel + "/" + thread)), Optional::isPresent)
                .orElseThrow();
    }

    /** The line below an assistant's thread. */
    public synchronized String status(String channel, String thread) {
        return statuses.getOrDefault(channel + "/" + thread, "");
    }

    /** When a message was written and changed, in milliseconds. */
    public synchronized List<Long> changes(String channel, String ts) {
        return List.copyOf(post(channel, ts).changes);
    }

    /** Waits until something here is so. */
    public <T> T await(Supplier<T> now, Predicate<T> condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        synchronized (this) {
            while (true) {
                T value = now.get();
                if (condition.test(value)) {
                    return value;
                }
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new AssertionError("it did not come to that; at last: " + value);
                }
                try {
                    // What it asks for may be elsewhere, such as in a database, and then nobody wakes it.
                    wait(Math.min(left, 100));
                } catch (InterruptedException e) {
                    throw new AssertionError("interrupted", e);
                }
            }
        }
    }

    // What Slack does

    /** How often a method was called, and not refused. */
    public int calls(String method) {
        return api.calls(method);
    }

    /** Refuses the next calls of a method. */
    public void fails(String method, String error, int times) {
        api.fail(method, error, times);
    }

    /** Refuses a method for that long, as for one that is called too often. */
    public void limits(String method, Duration pause) {
        api.limit(method, pause);
    }

    /** How many calls came although they had been told to wait. */
    public int impatient() {
        return api.impatient();
    }

    /** Does the next call of a method, and loses the answer. */
    public void losesAnswer(String method) {
        api.lose(method);
    }

    /** Does not hear the next acknowledgements, and so sends again. */
    public void losesAcknowledgements(int times) {
        socket.lose(times);
    }

    /** Sends the last event again, with the same id. */
    public void repeats() {
        JsonNode envelope = lastEvent.orElseThrow();
        deliver("events_api", envelope, envelope.toString());
    }

    /** Tells apps to connect anew, as Slack does every few hours. */
    public void refreshes() {
        socket.refresh();
    }

    /** Ends the connections without a word. */
    public void cuts() {
        socket.cut();
    }

    /** How often an app has connected. */
    public int connections() {
        return socket.opened();
    }

    public void awaitConnections(int count) {
        await(socket::opened, opened -> opened >= count);
    }

    /** How often something was sent again. */
    public int redeliveries() {
        return socket.redeliveries();
    }

    /** Somebody else's workspace, in which the app is installed with the code that this returns. */
    public String installs(String team, String token) {
        synchronized (this) {
            tokens.put(token, team);
        }
        return api.code(team, token);
    }

    /** A mention in another workspace. */
    public void mentionsIn(String team, String user, String channel, String text) {
        Post post = new Post();
        synchronized (this) {
            post.channel = channel;
            post.ts = now();
            post.user = user;
            post.text = text;
            add(post);
        }
        send(team, event(post, "app_mention"));
    }

    // Inside

    private void send(String team, ObjectNode event) {
        ObjectNode envelope = JSON.createObjectNode()
                .put("token", "legacy")
                .put("team_id", team)
                .put("api_app_id", "A0APP")
                .put("type", "event_callback")
                .put("event_id", "Ev" + nextId())
                .put("event_time", 1_700_000_000);
        envelope.set("event", event);
        lastEvent = Optional.of(envelope);
        deliver("events_api", envelope, envelope.toString());
    }

    private void deliver(String type, JsonNode payload, String body) {
        if (door.isEmpty()) {
            socket.deliver(type, payload);
            return;
        }
        for (int attempt = 0; attempt <= RETRIES; attempt++) {
            Map<String, List<String>> headers =
                    signed(body, Long.toString(System.currentTimeMillis() / 1000), SIGNING_SECRET);
            headers.put(
                    "Content-Type",
                    List.of(body.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded"));
            if (attempt > 0) {
                headers.put("X-Slack-Retry-Num", List.of(Integer.toString(attempt)));
            }
            if (door.get().deliver(headers, body.getBytes(UTF_8)) == 200) {
                return;
            }
        }
    }

    /** The headers of a request that Slack has signed. */
    public static Map<String, List<String>> signed(String body, String timestamp, String secret) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
            String hash = HexFormat.of().formatHex(mac.doFinal(("v0:" + timestamp + ":" + body).getBytes(UTF_8)));
            return new HashMap<>(Map.of(
                    "x-slack-request-timestamp", List.of(timestamp), "x-slack-signature", List.of("v0=" + hash)));
        } catch (java.security.GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    private synchronized int nextId() {
        return ++ids;
    }

    synchronized String newFile() {
        return "F" + ++ids;
    }

    private synchronized String tick() {
        return now();
    }

    String now() {
        clock += 1_000;
        return clock / 1_000_000 + "." + String.format("%06d", clock % 1_000_000);
    }

    synchronized void add(Post post) {
        post.changes.add(System.nanoTime() / 1_000_000);
        posts.put(post.channel + "/" + post.ts, post);
        notifyAll();
    }

    synchronized Post post(String channel, String ts) {
        return find(channel, ts).orElseThrow(() -> new AssertionError("no message " + ts + " in " + channel));
    }

    synchronized Optional<Post> find(String channel, String ts) {
        return Optional.ofNullable(posts.get(channel + "/" + ts));
    }

    synchronized void remove(Post post) {
        posts.remove(post.channel + "/" + post.ts);
        notifyAll();
    }

    synchronized List<Post> posts(String channel, Predicate<Post> which) {
        return posts.values().stream()
                .filter(post -> post.channel.equals(channel) && which.test(post))
                .toList();
    }

    synchronized void changed() {
        notifyAll();
    }

    private static Seen seen(Post post) {
        List<String> texts = new ArrayList<>();
        List<Button> buttons = new ArrayList<>();
        for (JsonNode block : post.blocks) {
            if (block.path("type").asString("").equals("section")) {
                texts.add(block.path("text").path("text").asString(""));
            }
            for (JsonNode button : block.path("elements")) {
                buttons.add(new Button(
                        button.path("action_id").asString(""),
                        button.path("text").path("text").asString(""),
                        button.path("value").asString("")));
            }
        }
        List<Shown> shown = post.files.stream()
                .map(file -> new Shown(file.name, file.title, Arrays.copyOf(file.content, file.content.length)))
                .toList();
        return new Seen(
                post.ts,
                post.user,
                texts.isEmpty() ? post.text : String.join("\n", texts),
                shown,
                List.copyOf(buttons));
    }

    @Override
    public void close() {
        api.close();
        socket.close();
    }
}
