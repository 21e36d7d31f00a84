package dev.berth.gateway.webhook;

import java.time.Duration;

/**
 * How webhooks are called.
 *
 * @param privateAddresses whether addresses of this machine and its networks may be called, which tenants could use to
 *     reach what is not for them
 * @param firstRetry how long to wait after the first attempt that failed; after each one twice as long
 * @param patience how long to try in all
 */
public record WebhooksConfig(boolean privateAddresses, Duration firstRetry, Duration patience) {
    public static final WebhooksConfig DEFAULT = new WebhooksConfig(false, Duration.ofSeconds(5), Duration.ofHours(24));

    public WebhooksConfig withPrivateAddresses(boolean allowed) {
        return new WebhooksConfig(allowed, firstRetry, patience);
    }

    public WebhooksConfig withRetries(Duration first, Duration all) {
        return new WebhooksConfig(privateAddresses, first, all);
    }
}
