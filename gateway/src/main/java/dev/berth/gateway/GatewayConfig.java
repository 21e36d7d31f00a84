package dev.berth.gateway;

import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.job.JobsConfig;
import dev.berth.tool.ToolSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How the API is served. Made with {@link #of} and the {@code with…} methods.
 *
 * @param data where it keeps what is not in the database
 * @param sealingKey 32 bytes, by which secrets in the database are sealed
 * @param requestsPerSecond of each key; 0 for no limit
 */
public record GatewayConfig(
        ServerConfig server,
        Path data,
        String adminKey,
        byte[] sealingKey,
        double requestsPerSecond,
        double requestBurst,
        Optional<OidcConfig> oidc,
        Features features) {

    /**
     * What is done beyond answering requests.
     *
     * @param tools what calls may do that no configuration says more about
     * @param artifacts what becomes an artifact, and where it is kept
     * @param approvalPatience how long a person has to allow a call
     */
    public record Features(
            ToolSettings tools,
            ArtifactsConfig artifacts,
            JobsConfig jobs,
            WebhooksConfig webhooks,
            Duration approvalPatience) {}

    public static final Duration APPROVAL_PATIENCE = Duration.ofMinutes(10);

    public static GatewayConfig of(ServerConfig server, Path data, String adminKey, byte[] sealingKey) {
        Features usual = new Features(
                ToolSettings.DEFAULT,
                ArtifactsConfig.in(data.resolve("artifacts")),
                JobsConfig.DEFAULT,
                WebhooksConfig.DEFAULT,
                APPROVAL_PATIENCE);
        return new GatewayConfig(server, data, adminKey, sealingKey, 0, 0, Optional.empty(), usual);
    }

    public ToolSettings tools() {
        return features.tools;
    }

    /** Where outputs that were too long for an answer are kept. */
    public Path outputs() {
        return data.resolve("outputs");
    }

    public GatewayConfig withServer(ServerConfig listening) {
        return new GatewayConfig(
                listening, data, adminKey, sealingKey, requestsPerSecond, requestBurst, oidc, features);
    }

    public GatewayConfig withRates(double perSecond, double burst) {
        return new GatewayConfig(server, data, adminKey, sealingKey, perSecond, burst, oidc, features);
    }

    public GatewayConfig withOidc(Optional<OidcConfig> issuer) {
        return new GatewayConfig(server, data, adminKey, sealingKey, requestsPerSecond, requestBurst, issuer, features);
    }

    public GatewayConfig withTools(ToolSettings settings) {
        return with(new Features(
                settings, features.artifacts, features.jobs, features.webhooks, features.approvalPatience));
    }

    public GatewayConfig withArtifacts(ArtifactsConfig kept) {
        return with(new Features(features.tools, kept, features.jobs, features.webhooks, features.approvalPatience));
    }

    public GatewayConfig withJobs(JobsConfig jobs) {
        return with(
                new Features(features.tools, features.artifacts, jobs, features.webhooks, features.approvalPatience));
    }

    public GatewayConfig withWebhooks(WebhooksConfig webhooks) {
        return with(
                new Features(features.tools, features.artifacts, features.jobs, webhooks, features.approvalPatience));
    }

    public GatewayConfig withApprovalPatience(Duration patience) {
        return with(new Features(features.tools, features.artifacts, features.jobs, features.webhooks, patience));
    }

    private GatewayConfig with(Features changed) {
        return new GatewayConfig(server, data, adminKey, sealingKey, requestsPerSecond, requestBurst, oidc, changed);
    }

    /** Without its secrets. */
    @Override
    public String toString() {
        return "GatewayConfig[" + server + "]";
    }
}
