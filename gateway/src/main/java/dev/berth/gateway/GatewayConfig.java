package dev.berth.gateway;

import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.session.job.JobsConfig;
import dev.berth.tool.ToolSettings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * How the API is served.
 *
 * @param tools what calls may do that no configuration says more about
 * @param outputs where outputs that were too long for an answer are kept
 * @param sealingKey 32 bytes, by which secrets in the database are sealed
 * @param requestsPerSecond of each key; 0 for no limit
 */
public record GatewayConfig(
        ServerConfig server,
        ToolSettings tools,
        Path outputs,
        String adminKey,
        byte[] sealingKey,
        double requestsPerSecond,
        double requestBurst,
        Optional<OidcConfig> oidc,
        JobsConfig jobs,
        WebhooksConfig webhooks) {

    /** With jobs and webhooks as they are where nobody says otherwise. */
    public GatewayConfig(
            ServerConfig server,
            ToolSettings tools,
            Path outputs,
            String adminKey,
            byte[] sealingKey,
            double requestsPerSecond,
            double requestBurst,
            Optional<OidcConfig> oidc) {
        this(
                server,
                tools,
                outputs,
                adminKey,
                sealingKey,
                requestsPerSecond,
                requestBurst,
                oidc,
                JobsConfig.DEFAULT,
                WebhooksConfig.DEFAULT);
    }

    public GatewayConfig withRates(double perSecond, double burst) {
        return new GatewayConfig(server, tools, outputs, adminKey, sealingKey, perSecond, burst, oidc, jobs, webhooks);
    }

    /** Without its secrets. */
    @Override
    public String toString() {
        return "GatewayConfig[" + server + "]";
    }
}
