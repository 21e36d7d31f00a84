package dev.berth.gateway;

import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.session.artifact.ArtifactsConfig;
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
 * @param tools what calls may do that no configuration says more about
 * @param artifacts what becomes an artifact, and where it is kept
 * @param approvalPatience how long a person has to allow a call
 */
public record GatewayConfig(
        ServerConfig server,
        Path data,
        String adminKey,
        byte[] sealingKey,
        double requestsPerSecond,
        double requestBurst,
        Optional<OidcConfig> oidc,
        ToolSettings tools,
        ArtifactsConfig artifacts,
        Duration approvalPatience) {
    public static final Duration APPROVAL_PATIENCE = Duration.ofMinutes(10);

    public static GatewayConfig of(ServerConfig server, Path data, String adminKey, byte[] sealingKey) {
        return new GatewayConfig(
                server,
                data,
                adminKey,
                sealingKey,
                0,
                0,
                Optional.empty(),
                ToolSettings.DEFAULT,
                ArtifactsConfig.in(data.resolve("artifacts")),
                APPROVAL_PATIENCE);
    }

    public GatewayConfig withServer(ServerConfig listening) {
        return with(listening, requestsPerSecond, requestBurst, oidc, tools, artifacts, approvalPatience);
    }

    public GatewayConfig withRates(double perSecond, double burst) {
        return with(server, perSecond, burst, oidc, tools, artifacts, approvalPatience);
    }

    public GatewayConfig withOidc(Optional<OidcConfig> issuer) {
        return with(server, requestsPerSecond, requestBurst, issuer, tools, artifacts, approvalPatience);
    }

    public GatewayConfig withTools(ToolSettings settings) {
        return with(server, requestsPerSecond, requestBurst, oidc, settings, artifacts, approvalPatience);
    }

    public GatewayConfig withArtifacts(ArtifactsConfig kept) {
        return with(server, requestsPerSecond, requestBurst, oidc, tools, kept, approvalPatience);
    }

    public GatewayConfig withApprovalPatience(Duration patience) {
        return with(server, requestsPerSecond, requestBurst, oidc, tools, artifacts, patience);
    }

    private GatewayConfig with(
            ServerConfig listening,
            double perSecond,
            double burst,
            Optional<OidcConfig> issuer,
            ToolSettings settings,
            ArtifactsConfig kept,
            Duration patience) {
        return new GatewayConfig(
                listening, data, adminKey, sealingKey, perSecond, burst, issuer, settings, kept, patience);
    }

    /** Where outputs that were too long for an answer are kept. */
    public Path outputs() {
        return data.resolve("outputs");
    }

    /** Without its secrets. */
    @Override
    public String toString() {
        return "GatewayConfig[" + server + "]";
    }
}
