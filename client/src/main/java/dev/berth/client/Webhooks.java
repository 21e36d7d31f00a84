package dev.berth.client;

import java.util.List;

/** Addresses that the server tells when jobs end. */
public final class Webhooks {
    private final BerthClient berth;

    Webhooks(BerthClient berth) {
        this.berth = berth;
    }

    public List<Webhook> list() {
        return berth.list(Call.get("/v1/webhooks"), "webhooks", Webhook::of);
    }

    /** Has an address told of everything there is to tell. */
    public Webhook.Made make(String url) {
        return Webhook.made(berth.json(Call.create("/v1/webhooks", Json.object().with("url", url))));
    }

    public void delete(String id) {
        berth.done(Call.delete(path(id)));
    }

    /** What it was told, the newest first. */
    public List<Webhook.Delivery> deliveries(String id) {
        return berth.list(Call.get(path(id) + "/deliveries"), "deliveries", Webhook.Delivery::of);
    }

    private static String path(String id) {
        return "/v1/webhooks/" + Call.encode(id);
    }
}
