package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.webhook.Webhooks;
import dev.berth.gateway.webhook.Webhooks.Delivery;
import dev.berth.gateway.webhook.Webhooks.Made;
import dev.berth.gateway.webhook.Webhooks.Webhook;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Addresses of the tenant that are told when jobs end. */
public final class WebhookApi {
    private static final int PAGE = 100;

    private final Webhooks webhooks;

    public WebhookApi(Webhooks webhooks) {
        this.webhooks = webhooks;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "webhooks", this::list,
                "makeWebhook", this::make,
                "removeWebhook", this::remove,
                "webhookDeliveries", this::deliveries);
    }

    private Answer list(Exchange exchange) {
        return Answer.ok(Map.of(
                "webhooks",
                webhooks.list(exchange.caller().tenant()).stream()
                        .map(WebhookApi::show)
                        .toList()));
    }

    private Answer make(Exchange exchange) {
        List<String> events = new ArrayList<>();
        exchange.body().path("events").forEach(event -> events.add(event.asString()));
        Made made = webhooks.make(
                exchange.caller().tenant(),
                exchange.body().path("url").asString(),
                events.isEmpty() ? List.of(Webhooks.FINISHED) : events);
        Map<String, Object> shown = show(made.webhook());
        shown.put("secret", made.secret());
        return Answer.created(shown);
    }

    private Answer remove(Exchange exchange) {
        webhooks.remove(exchange.caller().tenant(), exchange.path("webhook_id"));
        return Answer.done();
    }

    private Answer deliveries(Exchange exchange) {
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
        return Answer.ok(Map.of(
                "deliveries",
                webhooks.deliveries(exchange.caller().tenant(), exchange.path("webhook_id"), limit).stream()
                        .map(WebhookApi::show)
                        .toList()));
    }

    private static Map<String, Object> show(Webhook webhook) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("webhook_id", webhook.id());
        shown.put("url", webhook.url());
        shown.put("events", webhook.events());
        shown.put("enabled", webhook.enabled());
        shown.put("created_at", webhook.createdAt());
        return shown;
    }

    private static Map<String, Object> show(Delivery delivery) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("delivery_id", delivery.id());
        shown.put("event", delivery.event());
        shown.put("job_id", delivery.job());
        shown.put("state", delivery.state());
        shown.put("attempts", delivery.attempts());
        delivery.lastStatus().ifPresent(status -> shown.put("last_status", status));
        delivery.lastError().ifPresent(error -> shown.put("last_error", error));
        shown.put("created_at", delivery.createdAt());
        delivery.nextAttemptAt().ifPresent(at -> shown.put("next_attempt_at", at));
        delivery.deliveredAt().ifPresent(at -> shown.put("delivered_at", at));
        return shown;
    }
}
