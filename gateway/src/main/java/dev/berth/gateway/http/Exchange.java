package dev.berth.gateway.http;

import dev.berth.gateway.auth.Caller;
import dev.berth.tool.Stop;
import io.javalin.http.Context;
import java.io.InputStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** One request: who asks and what. Everything in it was checked against the contract. */
public final class Exchange {
    private final String operation;
    private final String id;
    private final @Nullable Caller caller;
    private final ObjectNode body;
    private final Map<String, String> path;
    private final Map<String, List<String>> query;
    private final Function<String, @Nullable String> headers;
    private final Supplier<InputStream> stream;
    private final CallEvents events;
    private final boolean allowed;
    private final Stop stop;

    private Exchange(
            String operation,
            String id,
            @Nullable Caller caller,
            ObjectNode body,
            Map<String, String> path,
            Map<String, List<String>> query,
            Function<String, @Nullable String> headers,
            Supplier<InputStream> stream,
            CallEvents events,
            boolean allowed,
            Stop stop) {
        this.operation = operation;
        this.id = id;
        this.caller = caller;
        this.body = body;
        this.path = path;
        this.query = query;
        this.headers = headers;
        this.stream = stream;
        this.events = events;
        this.allowed = allowed;
        this.stop = stop;
    }

    static Exchange of(String operation, String id, Context context, @Nullable Caller caller, ObjectNode body) {
        return new Exchange(
                operation,
                id,
                caller,
                body,
                context.pathParamMap(),
                context.queryParamMap(),
                context::header,
                context::bodyInputStream,
                CallEvents.NONE,
                false,
                new Stop());
    }

    /** A request that was kept, made again now that a person has allowed it. */
    public static Exchange allowed(
            String operation, String id, Caller caller, Map<String, String> path, ObjectNode body) {
        return made(operation, id, caller, path, body, CallEvents.NONE, true);
    }

    /** A request that comes by another way than HTTP. */
    public static Exchange made(
            String operation, String id, Caller caller, Map<String, String> path, ObjectNode body, CallEvents events) {
        return made(operation, id, caller, path, body, events, false);
    }

    private static Exchange made(
            String operation,
            String id,
            Caller caller,
            Map<String, String> path,
            ObjectNode body,
            CallEvents events,
            boolean allowed) {
        return new Exchange(
                operation,
                id,
                caller,
                body,
                Map.copyOf(path),
                Map.of(),
                name -> name.equals("Content-Type") ? "application/json" : null,
                InputStream::nullInputStream,
                events,
                allowed,
                new Stop());
    }

    /** The same, with somebody who hears what happens in it. */
    public Exchange heardBy(CallEvents listener) {
        return new Exchange(operation, id, caller, body, path, query, headers, stream, listener, allowed, stop);
    }

    /** The same, which somebody else can end. */
    public Exchange endedBy(Stop other) {
        return new Exchange(operation, id, caller, body, path, query, headers, stream, events, allowed, other);
    }

    /** The same, with a header. */
    public Exchange withHeader(String name, String value) {
        return new Exchange(
                operation,
                id,
                caller,
                body,
                path,
                query,
                asked -> asked.equalsIgnoreCase(name) ? value : headers.apply(asked),
                stream,
                events,
                allowed,
                stop);
    }

    /** Which operation of the contract. */
    public String operation() {
        return operation;
    }

    /** The name of this request, which is also in the log and in events. */
    public String id() {
        return id;
    }

    /** Who asks; every operation that is not open to all has one. */
    public Caller caller() {
        if (caller == null) {
            throw new IllegalStateException(operation + " is open to all and has no caller");
        }
        return caller;
    }

    /** The JSON body; empty for operations that have none. */
    public ObjectNode body() {
        return body;
    }

    public <T> T body(Class<T> type) {
        return Bodies.JSON.treeToValue(body, type);
    }

    /** The body as it comes, for operations whose content is not JSON. */
    public InputStream stream() {
        return stream.get();
    }

    /** How many bytes the body is said to have. */
    public OptionalLong length() {
        return header("Content-Length")
                .filter(text -> text.matches("[0-9]{1,18}"))
                .map(text -> OptionalLong.of(Long.parseLong(text)))
                .orElse(OptionalLong.empty());
    }

    public boolean isJson() {
        return header("Content-Type")
                .filter(type -> type.toLowerCase(Locale.ROOT).startsWith("application/json"))
                .isPresent();
    }

    /** Whether the caller would rather have events as they happen than one answer at the end. */
    public boolean wantsEvents() {
        return header("Accept")
                .filter(type -> type.contains(EventStream.CONTENT_TYPE))
                .isPresent();
    }

    /** Where what happens in the call is told as it happens. */
    public CallEvents events() {
        return events;
    }

    /** By which the call is ended before its time. */
    public Stop stop() {
        return stop;
    }

    /** Whether a person has allowed just this. */
    public boolean allowed() {
        return allowed;
    }

    /** The parameters of the path. */
    public Map<String, String> path() {
        return path;
    }

    public String path(String name) {
        String value = path.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the path of " + operation + " has no '" + name + "'");
        }
        return value;
    }

    /** The parameters of the query. */
    Map<String, List<String>> query() {
        return query;
    }

    public Optional<String> query(String name) {
        return Optional.ofNullable(query.get(name)).map(List::getFirst);
    }

    public Optional<String> header(String name) {
        return Optional.ofNullable(headers.apply(name));
    }
}
