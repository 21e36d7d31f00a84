package dev.berth.gateway.http;

import dev.berth.gateway.auth.Caller;
import io.javalin.http.Context;
import java.io.InputStream;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** One request: who asks and what. Everything in it was checked against the contract. */
public final class Exchange {
    private final Context context;
    private final @Nullable Caller caller;
    private final ObjectNode body;

    Exchange(Context context, @Nullable Caller caller, ObjectNode body) {
        this.context = context;
        this.caller = caller;
        this.body = body;
    }

    /** Who asks; every operation that is not open to all has one. */
    public Caller caller() {
        if (caller == null) {
            throw new IllegalStateException(context.path() + " is open to all and has no caller");
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
        return context.bodyInputStream();
    }

    /** How many bytes the body is said to have. */
    public OptionalLong length() {
        long length = context.req().getContentLengthLong();
        return length < 0 ? OptionalLong.empty() : OptionalLong.of(length);
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

    /** Whether the path has a parameter of this name. */
    public boolean has(String name) {
        return context.pathParamMap().containsKey(name);
    }

    public String path(String name) {
        return context.pathParam(name);
    }

    public Optional<String> query(String name) {
        return Optional.ofNullable(context.queryParam(name));
    }

    public Optional<String> header(String name) {
        return Optional.ofNullable(context.header(name));
    }
}
