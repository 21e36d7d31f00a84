package dev.berth.client;

import java.util.List;

/** Where the server tells of what happened. Their fields are in the server's /docs. */
public final class Webhooks {
    private final BerthClient berth;

    Webhooks(BerthClient berth) {
        this.berth = berth;
    }

    public List<Json> list() {
        return berth.list(Call.get("/v1/webhooks"), "webhooks", webhook -> webhook);
    }

    public Json make(Json webhook) {
        return berth.json(Call.create("/v1/webhooks", webhook));
    }

    public void delete(String id) {
        berth.done(Call.delete(path(id)));
    }

    /** What was sent, and what came of it. */
    public List<Json> deliveries(String id) {
        return berth.list(Call.get(path(id) + "/deliveries"), "deliveries", delivery -> delivery);
    }

    private static String path(String id) {
        return "/v1/webhooks/" + Call.encode(id);
    }
}
