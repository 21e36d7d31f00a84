package dev.berth.gateway;

import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.tool.ToolSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How the API is served.
 *
 * @param tools what calls may do that no configuration says more about
 * @param outputs where outputs that were too long for an answer are kept
 * @param sealingKey 32 bytes, by which secrets in the database are sealed
 * @param requestsPerSecond of each key; 0 for no limit
 * @param approvalPatience how long a person has to allow a call
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
        Duration approvalPatience) {
    public static final Duration APPROVAL_PATIENCE = Duration.ofMinutes(10);

    public static GatewayConfig of(ServerConfig server, Path outputs, String adminKey, byte[] sealingKey) {
        return new GatewayConfig(
                server, ToolSettings.DEFAULT, outputs, adminKey, sealingKey, 0, 0, Optional.empty(), APPROVAL_PATIENCE);
    }

    public GatewayConfig withTools(ToolSettings settings) {
        return new GatewayConfig(
                server,
                settings,
                outputs,
                adminKey,
                sealingKey,
                requestsPerSecond,
                requestBurst,
                oidc,
                approvalPatience);
    }

    public GatewayConfig withServer(ServerConfig listening) {
        return new GatewayConfig(
                listening,
                tools,
                outputs,
                adminKey,
                sealingKey,
                requestsPerSecond,
                requestBurst,
                oidc,
                approvalPatience);
    }

    public GatewayConfig withRates(double perSecond, double burst) {
        return new GatewayConfig(
                server, tools, outputs, adminKey, sealingKey, perSecond, burst, oidc, approvalPatience);
    }

    public GatewayConfig withOidc(Optional<OidcConfig> issuer) {
        return new GatewayConfig(
                server,
                tools,
                outputs,
                adminKey,
                sealingKey,
                requestsPerSecond,
                requestBurst,
                issuer,
                approvalPatience);
    }

    public GatewayConfig withApprovalPatience(Duration patience) {
        return new GatewayConfig(
                server, tools, outputs, adminKey, sealingKey, requestsPerSecond, requestBurst, oidc, patience);
    }

    /** Without its secrets. */
    @Override
    public String toString() {
        return "GatewayConfig[" + server + "]";
    }
}
