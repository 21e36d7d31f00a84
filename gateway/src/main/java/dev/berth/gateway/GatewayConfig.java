package dev.berth.gateway;

import dev.berth.gateway.agent.AgentsConfig;
import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.channel.ChannelsConfig;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.egress.OutboundConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.job.JobsConfig;
import dev.berth.tool.ToolSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * How the API is served. Made with {@link #of} and the {@code with…} methods.
 *
 * @param data where it keeps what is not in the database
 * @param sealingKeys of 32 bytes, by which secrets in the database are sealed, the newest first; asked at the start, and
 *     whenever everything is to be sealed anew
 * @param requestsPerSecond of each key; 0 for no limit
 */
public record GatewayConfig(
        ServerConfig server,
        Path data,
        String adminKey,
        Supplier<List<byte[]>> sealingKeys,
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
     * @param plainSecrets hosts to which secrets may go without TLS
     * @param outbound how the way out of sandboxes finds what is outside
     * @param agents which agents sessions have that nobody chose another one for
     * @param channels where people talk to them
     * @param sealed what others have sealed with the keys of this
     * @param e2b how E2B's clients are served, if they are
     */
    public record Features(
            ToolSettings tools,
            ArtifactsConfig artifacts,
            JobsConfig jobs,
            WebhooksConfig webhooks,
            Duration approvalPatience,
            List<Domain> plainSecrets,
            OutboundConfig outbound,
            AgentsConfig agents,
            ChannelsConfig channels,
            List<SealedColumn> sealed,
            Optional<E2bConfig> e2b) {}

    public static final Duration APPROVAL_PATIENCE = Duration.ofMinutes(10);

    /** With a key for sealing that does not change. */
    public static GatewayConfig of(ServerConfig server, Path data, String adminKey, byte[] sealingKey) {
        return of(server, data, adminKey, () -> List.of(sealingKey));
    }

    public static GatewayConfig of(
            ServerConfig server, Path data, String adminKey, Supplier<List<byte[]>> sealingKeys) {
        Features usual = new Features(
                ToolSettings.DEFAULT,
                ArtifactsConfig.in(data.resolve("artifacts")),
                JobsConfig.DEFAULT,
                WebhooksConfig.DEFAULT,
                APPROVAL_PATIENCE,
                List.of(),
                OutboundConfig.DEFAULT,
                AgentsConfig.DEFAULT,
                ChannelsConfig.DEFAULT,
                List.of(),
                Optional.empty());
        return new GatewayConfig(server, data, adminKey, sealingKeys, 0, 0, Optional.empty(), usual);
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
                listening, data, adminKey, sealingKeys, requestsPerSecond, requestBurst, oidc, features);
    }

    public GatewayConfig withRates(double perSecond, double burst) {
        return new GatewayConfig(server, data, adminKey, sealingKeys, perSecond, burst, oidc, features);
    }

    public GatewayConfig withOidc(Optional<OidcConfig> issuer) {
        return new GatewayConfig(
                server, data, adminKey, sealingKeys, requestsPerSecond, requestBurst, issuer, features);
    }

    public GatewayConfig withTools(ToolSettings settings) {
        return with(draft -> draft.tools = settings);
    }

    public GatewayConfig withArtifacts(ArtifactsConfig kept) {
        return with(draft -> draft.artifacts = kept);
    }

    public GatewayConfig withJobs(JobsConfig jobs) {
        return with(draft -> draft.jobs = jobs);
    }

    public GatewayConfig withWebhooks(WebhooksConfig webhooks) {
        return with(draft -> draft.webhooks = webhooks);
    }

    public GatewayConfig withApprovalPatience(Duration patience) {
        return with(draft -> draft.approvalPatience = patience);
    }

    public GatewayConfig withPlainSecrets(List<Domain> hosts) {
        return with(draft -> draft.plainSecrets = hosts);
    }

    public GatewayConfig withOutbound(OutboundConfig outbound) {
        return with(draft -> draft.outbound = outbound);
    }

    public GatewayConfig withAgents(AgentsConfig agents) {
        return with(draft -> draft.agents = agents);
    }

    /** @param sealed what channels of other modules keep in the database, sealed with {@link Gateway#sealer} */
    public GatewayConfig withChannels(ChannelsConfig channels, List<SealedColumn> sealed) {
        return with(draft -> {
            draft.channels = channels;
            draft.sealed = List.copyOf(sealed);
        });
    }

    public GatewayConfig withE2b(Optional<E2bConfig> served) {
        return with(draft -> draft.e2b = served);
    }

    private GatewayConfig with(Consumer<Draft> change) {
        Draft draft = new Draft(features);
        change.accept(draft);
        return new GatewayConfig(
                server, data, adminKey, sealingKeys, requestsPerSecond, requestBurst, oidc, draft.features());
    }

    /** Features that are being changed. */
    private static final class Draft {
        private ToolSettings tools;
        private ArtifactsConfig artifacts;
        private JobsConfig jobs;
        private WebhooksConfig webhooks;
        private Duration approvalPatience;
        private List<Domain> plainSecrets;
        private OutboundConfig outbound;
        private AgentsConfig agents;
        private ChannelsConfig channels;
        private List<SealedColumn> sealed;
        private Optional<E2bConfig> e2b;

        private Draft(Features of) {
            tools = of.tools;
            artifacts = of.artifacts;
            jobs = of.jobs;
            webhooks = of.webhooks;
            approvalPatience = of.approvalPatience;
            plainSecrets = of.plainSecrets;
            outbound = of.outbound;
            agents = of.agents;
            channels = of.channels;
            sealed = of.sealed;
            e2b = of.e2b;
        }

        private Features features() {
            return new Features(
                    tools,
                    artifacts,
                    jobs,
                    webhooks,
                    approvalPatience,
                    plainSecrets,
                    outbound,
                    agents,
                    channels,
                    sealed,
                    e2b);
        }
    }

    /** Without its secrets. */
    @Override
    public String toString() {
        return "GatewayConfig[" + server + "]";
    }
}
