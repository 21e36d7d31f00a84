package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Slack's methods, and the addresses that files and answers go to. */
final class FakeSlackApi implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int SECTION = 3_000;
    private static final int UPDATE = 4_000;

    /** What a method is refused with. */
    private static final class Refused extends RuntimeException {
        Refused(String error) {
            super(error, null, false, false);
        }
    }

    private record Failure(String error, AtomicInteger left) {}

    private final FakeSlack slack;
    private final FakeSlackSocket socket;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
    private final Map<String, Failure> failures = new ConcurrentHashMap<>();
    private final Map<String, Long> limits = new ConcurrentHashMap<>();
    private final Map<String, Boolean> told = new ConcurrentHashMap<>();
    private final Map<String, Duration> pauses = new ConcurrentHashMap<>();
    private final Map<String, Boolean> lost = new ConcurrentHashMap<>();
    private final Map<String, String[]> codes = new ConcurrentHashMap<>();
    private final Map<String, Integer> lengths = new ConcurrentHashMap<>();
    private final AtomicInteger impatient = new AtomicInteger();

    FakeSlackApi(FakeSlack slack, FakeSlackSocket socket) {
        this.slack = slack;
        this.socket = socket;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/api/", this::method);
        server.createContext("/upload/", this::upload);
        server.createContext("/files/", this::download);
        server.createContext("/response/", this::response);
        server.start();
    }

    URI address() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    int calls(String method) {
        return calls.getOrDefault(method, new AtomicInteger()).get();
    }

    void fail(String method, String error, int times) {
        failures.put(method, new Failure(error, new AtomicInteger(times)));
    }

    void limit(String method, Duration pause) {
        pauses.put(method, pause);
    }

    int impatient() {
        return impatient.get();
    }

    void lose(String method) {
        lost.put(method, true);
    }

    String code(String team, String token) {
        String code = "code-" + team;
        codes.put(code, new String[] {team, token});
        return code;
    }

    private void method(HttpExchange exchange) throws IOException {
        String method = exchange.getRequestURI().getPath().substring("/api/".length());
        Map<String, String> form = form(new String(exchange.getRequestBody().readAllBytes(), UTF_8));
        Optional<Duration> pause = limited(method);
        if (pause.isPresent()) {
            exchange.getResponseHeaders()
                    .add("Retry-After", Long.toString(pause.get().toSeconds()));
            answer(exchange, 429, "{\"ok\":false,\"error\":\"ratelimited\"}");
            return;
        }
        ObjectNode result;
        try {
            Failure failure = failures.get(method);
            if (failure != null && failure.left.getAndDecrement() > 0) {
                throw new Refused(failure.error);
            }
            String authorization = Optional.ofNullable(
                            exchange.getRequestHeaders().getFirst("Authorization"))
                    .orElse("");
            result = run(method, authorization, form);
            calls.computeIfAbsent(method, _ -> new AtomicInteger()).incrementAndGet();
            result.put("ok", true);
        } catch (Refused e) {
            result = JSON.createObjectNode().put("ok", false).put("error", e.getMessage());
        }
        slack.changed();
        if (lost.remove(method) != null) {
            answer(exchange, 503, "");
        } else {
            answer(exchange, 200, result.toString());
        }
    }

    /** How long the caller has to wait still. Who calls before that, after having been told, is impatient. */
    private Optional<Duration> limited(String method) {
        Duration pause = pauses.remove(method);
        if (pause != null) {
            limits.put(method, System.nanoTime() + pause.toNanos());
        }
        Long until = limits.get(method);
        if (until == null || until - System.nanoTime() <= 0) {
            limits.remove(method);
            told.remove(method);
            return Optional.empty();
        }
        if (told.put(method, true) != null) {
            impatient.incrementAndGet();
        }
        return Optional.of(Duration.ofNanos(until - System.nanoTime())
                .plusMillis(999)
                .truncatedTo(java.time.temporal.ChronoUnit.SECONDS));
    }

    private ObjectNode run(String method, String authorization, Map<String, String> form) {
        if (method.equals("apps.connections.open")) {
            need(authorization.equals("Bearer " + FakeSlack.APP_TOKEN), "invalid_auth");
            return JSON.createObjectNode().put("url", socket.address().toString());
        }
        if (method.equals("oauth.v2.access")) {
            return access(authorization, form);
        }
        String team = authorization.startsWith("Bearer ")
                ? slack.tokens.get(authorization.substring("Bearer ".length()))
                : null;
        if (team == null) {
            throw new Refused(authorization.isEmpty() ? "not_authed" : "invalid_auth");
        }
        synchronized (slack) {
            return switch (method) {
                case "auth.test" ->
                    JSON.createObjectNode()
                            .put("team_id", team)
                            .put("user_id", FakeSlack.BOT)
                            .put("bot_id", "B0BOT");
                case "users.info" -> user(form);
                case "conversations.open" -> {
                    ObjectNode opened = JSON.createObjectNode();
                    opened.putObject("channel").put("id", FakeSlack.direct(form.getOrDefault("users", "")));
                    yield opened;
                }
                case "chat.postMessage" -> post(form);
                case "chat.update" -> update(form);
                case "chat.delete" -> {
                    slack.remove(own(form));
                    yield JSON.createObjectNode();
                }
                case "chat.postEphemeral" -> {
                    slack.whispers.add(new FakeSlack.Whisper(
                            form.getOrDefault("user", ""),
                            form.getOrDefault("channel", ""),
                            form.getOrDefault("thread_ts", ""),
                            form.getOrDefault("text", "")));
                    yield JSON.createObjectNode().put("message_ts", slack.now());
                }
                case "assistant.threads.setStatus" -> {
                    String thread = form.getOrDefault("channel_id", "") + "/" + form.getOrDefault("thread_ts", "");
                    need(slack.statuses.containsKey(thread), "channel_not_found");
                    slack.statuses.put(thread, form.getOrDefault("status", ""));
                    yield JSON.createObjectNode();
                }
                case "assistant.threads.setSuggestedPrompts" -> {
                    slack.prompts.put(
                            form.getOrDefault("channel_id", "") + "/" + form.getOrDefault("thread_ts", ""),
                            JSON.readTree(form.getOrDefault("prompts", "")));
                    yield JSON.createObjectNode();
                }
                case "views.publish" -> {
                    JsonNode view = JSON.readTree(form.getOrDefault("view", ""));
                    check(view.path("blocks"));
                    slack.homes.put(form.getOrDefault("user_id", ""), view);
                    yield JSON.createObjectNode();
                }
                case "conversations.replies" -> written(form, form.getOrDefault("ts", ""));
                case "conversations.history" -> written(form, "");
                case "files.getUploadURLExternal" -> {
                    int length = Integer.parseInt(form.getOrDefault("length", ""));
                    need(length > 0, "invalid_arguments");
                    String id = slack.newFile();
                    slack.files.put(
                            id,
                            new FakeSlack.Stored(
                                    id, form.getOrDefault("filename", ""), "application/octet-stream", new byte[0]));
                    lengths.put(id, length);
                    yield JSON.createObjectNode()
                            .put("file_id", id)
                            .put(
                                    "upload_url",
                                    address().resolve("/upload/" + id).toString());
                }
                case "files.completeUploadExternal" -> complete(form);
                case "files.info" -> {
                    FakeSlack.Stored file = slack.files.get(form.getOrDefault("file", ""));
                    if (file == null) {
                        throw new Refused("file_not_found");
                    }
                    ObjectNode info = JSON.createObjectNode();
                    info.putObject("file").put("id", file.id).put("url_private", slack.download(file));
                    yield info;
                }
                default -> throw new Refused("unknown_method");
            };
        }
    }

    private ObjectNode access(String authorization, Map<String, String> form) {
        String expected = "Basic "
                + Base64.getEncoder()
                        .encodeToString((FakeSlack.CLIENT_ID + ":" + FakeSlack.CLIENT_SECRET).getBytes(UTF_8));
        need(authorization.equals(expected), "bad_client_secret");
        String[] found = codes.remove(form.getOrDefault("code", ""));
        if (found == null) {
            throw new Refused("invalid_code");
        }
        ObjectNode answer = JSON.createObjectNode()
                .put("access_token", found[1])
                .put("token_type", "bot")
                .put("scope", "chat:write")
                .put("bot_user_id", FakeSlack.BOT);
        answer.putObject("team").put("id", found[0]).put("name", "Team <" + found[0] + ">");
        answer.putObject("authed_user").put("id", "U9");
        return answer;
    }

    private ObjectNode user(Map<String, String> form) {
        String name = slack.names.get(form.getOrDefault("user", ""));
        need(name != null, "user_not_found");
        ObjectNode answer = JSON.createObjectNode();
        answer.putObject("user")
                .put("id", form.getOrDefault("user", ""))
                .put("name", form.getOrDefault("user", ""))
                .putObject("profile")
                .put("display_name", name)
                .put("real_name", name + " of the test");
        return answer;
    }

    private ObjectNode post(Map<String, String> form) {
        FakeSlack.Post post = new FakeSlack.Post();
        post.channel = form.getOrDefault("channel", "");
        post.thread = form.getOrDefault("thread_ts", "");
        need(post.thread.isEmpty() || slack.find(post.channel, post.thread).isPresent(), "thread_not_found");
        post.ts = slack.now();
        post.user = FakeSlack.BOT;
        fill(post, form);
        post.metadata = JSON.readTree(form.getOrDefault("metadata", "{}"));
        slack.add(post);
        slack.statuses.computeIfPresent(post.channel + "/" + post.thread, (_, _) -> "");
        return JSON.createObjectNode().put("channel", post.channel).put("ts", post.ts);
    }

    private ObjectNode update(Map<String, String> form) {
        need(form.getOrDefault("text", "").length() <= UPDATE, "msg_too_long");
        FakeSlack.Post post = own(form);
        fill(post, form);
        post.changes.add(System.nanoTime() / 1_000_000);
        return JSON.createObjectNode().put("channel", post.channel).put("ts", post.ts);
    }

    private static void fill(FakeSlack.Post post, Map<String, String> form) {
        JsonNode blocks = JSON.readTree(form.getOrDefault("blocks", "[]"));
        need(!form.getOrDefault("text", "").isBlank() || !blocks.isEmpty(), "no_text");
        check(blocks);
        post.text = form.getOrDefault("text", "");
        post.blocks = blocks;
    }

    private static void check(JsonNode blocks) {
        for (JsonNode block : blocks) {
            if (block.path("type").asString("").equals("section")) {
                String text = block.path("text").path("text").asString("");
                need(!text.isEmpty() && text.length() <= SECTION, "invalid_blocks");
            }
        }
    }

    private FakeSlack.Post own(Map<String, String> form) {
        Optional<FakeSlack.Post> post = slack.find(form.getOrDefault("channel", ""), form.getOrDefault("ts", ""));
        need(post.filter(one -> one.user.equals(FakeSlack.BOT)).isPresent(), "message_not_found");
        return post.orElseThrow();
    }

    private ObjectNode written(Map<String, String> form, String thread) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode messages = answer.putArray("messages");
        String oldest = form.getOrDefault("oldest", "0");
        List<FakeSlack.Post> posts = slack.posts(
                form.getOrDefault("channel", ""),
                post -> (thread.isEmpty() ? post.thread.isEmpty() : post.thread.equals(thread))
                        && post.ts.compareTo(oldest) > 0);
        for (FakeSlack.Post post : posts) {
            ObjectNode message = messages.addObject()
                    .put("ts", post.ts)
                    .put("user", post.user)
                    .put("text", post.text);
            if (form.getOrDefault("include_all_metadata", "false").equals("true")) {
                message.set("metadata", post.metadata);
            }
            ArrayNode files = message.putArray("files");
            post.files.forEach(file -> files.addObject().put("name", file.name).put("size", file.content.length));
        }
        return answer;
    }

    private ObjectNode complete(Map<String, String> form) {
        FakeSlack.Post post = new FakeSlack.Post();
        post.channel = form.getOrDefault("channel_id", "");
        post.thread = form.getOrDefault("thread_ts", "");
        post.ts = slack.now();
        post.user = FakeSlack.BOT;
        for (JsonNode file : JSON.readTree(form.getOrDefault("files", ""))) {
            FakeSlack.Stored stored = slack.files.get(file.path("id").asString(""));
            if (stored == null || stored.content.length == 0) {
                throw new Refused("file_not_found");
            }
            stored.title = file.path("title").asString("");
            post.files.add(stored);
        }
        slack.add(post);
        return JSON.createObjectNode();
    }

    private void upload(HttpExchange exchange) throws IOException {
        String id = exchange.getRequestURI().getPath().substring("/upload/".length());
        byte[] content = exchange.getRequestBody().readAllBytes();
        FakeSlack.Stored file = slack.files.get(id);
        if (file == null || lengths.getOrDefault(id, -1) != content.length) {
            answer(exchange, 400, "wrong length");
            return;
        }
        file.content = content;
        answer(exchange, 200, "OK");
    }

    private void download(HttpExchange exchange) throws IOException {
        String token = Optional.ofNullable(exchange.getRequestHeaders().getFirst("Authorization"))
                .orElse("");
        FakeSlack.Stored file =
                slack.files.get(exchange.getRequestURI().getPath().substring("/files/".length()));
        if (file == null || !slack.tokens.containsKey(token.replace("Bearer ", ""))) {
            exchange.getResponseHeaders().add("Content-Type", "text/html; charset=utf-8");
            answer(exchange, 200, "<html>log in</html>");
            return;
        }
        exchange.getResponseHeaders().add("Content-Type", file.mimeType);
        exchange.sendResponseHeaders(200, file.content.length == 0 ? -1 : file.content.length);
        try (exchange) {
            exchange.getResponseBody().write(file.content);
        }
    }

    private void response(HttpExchange exchange) throws IOException {
        String[] parts = exchange.getRequestURI().getPath().split("/");
        JsonNode body = JSON.readTree(exchange.getRequestBody().readAllBytes());
        synchronized (slack) {
            slack.whispers.add(new FakeSlack.Whisper(
                    parts[2], parts[3], "", body.path("text").asString("")));
        }
        slack.changed();
        answer(exchange, 200, "ok");
    }

    private static void need(boolean condition, String error) {
        if (!condition) {
            throw new Refused(error);
        }
    }

    private static Map<String, String> form(String body) {
        Map<String, String> form = new HashMap<>();
        for (String pair : body.split("&")) {
            String[] parts = pair.split("=", 2);
            if (parts.length == 2) {
                form.put(URLDecoder.decode(parts[0], UTF_8), URLDecoder.decode(parts[1], UTF_8));
            }
        }
        return form;
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        try (exchange) {
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
