package dev.berth.cli.config;

import dev.berth.agent.AgentConfig.Patience;
import dev.berth.channel.ConversationsConfig;
import dev.berth.channel.Rules;
import dev.berth.channel.Rules.Rate;
import dev.berth.channel.slack.SlackChannel;
import dev.berth.channel.slack.SlackConfig;
import dev.berth.channel.webhook.Hook;
import dev.berth.gateway.GatewayConfig;
import dev.berth.gateway.agent.AgentsConfig;
import dev.berth.gateway.agent.ModelChoice;
import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.channel.ChannelsConfig;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.e2b.E2bConfig.Naming;
import dev.berth.gateway.egress.OutboundConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.template.BuildConfig;
import dev.berth.sandbox.local.template.oci.RegistryConfig;
import dev.berth.session.IdlePolicy;
import dev.berth.session.SessionSpec;
import dev.berth.session.SessionsConfig;
import dev.berth.session.TenantLimits;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.job.JobsConfig;
import dev.berth.tool.ToolSettings;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** What each part of the server is told, made of the settings. */
public record ServerSettings(Values values) {

    public Path data() {
        return values.get(Settings.DATA);
    }

    public Path keys() {
        return data().resolve("keys");
    }

    /** @param warm how many sandboxes to keep ready, of templates that are there */
    public LocalConfig local(Map<String, Integer> warm) {
        return new LocalConfig(
                data(),
                templates(),
                values.get(Settings.RUNTIME),
                values.get(Settings.STORE),
                values.get(Settings.POOL).orElse(0L),
                warm,
                new NetworkConfig(
                        values.get(Settings.NETWORK_RANGE),
                        values.get(Settings.NETWORK_RESOLVERS).orElse(List.of())),
                new BuildConfig(
                        RegistryConfig.of(
                                values.get(Settings.REGISTRIES).orElse(List.of()),
                                values.get(Settings.REGISTRY_MIRROR)),
                        values.get(Settings.BUILD_NETWORK)));
    }

    public Path templates() {
        return values.get(Settings.TEMPLATES).orElse(data().resolve("templates"));
    }

    /**
     * @param template the one that sessions start from
     * @param limitsDisk whether a disk limit can be enforced; one that somebody asked for is then refused, not ignored
     */
    public SessionsConfig sessions(String template, boolean limitsDisk) {
        boolean unlimited = !limitsDisk && !values.has(Settings.LIMITS_DISK);
        Limits limits = Limits.DEFAULT
                .withMemory(values.get(Settings.LIMITS_MEMORY))
                .withCpus(values.get(Settings.LIMITS_CPUS))
                .withPids(values.get(Settings.LIMITS_PIDS))
                .withDisk(unlimited ? 0 : values.get(Settings.LIMITS_DISK))
                .withOutput(Math.toIntExact(values.get(Settings.LIMITS_OUTPUT)));
        IdlePolicy idle = new IdlePolicy(
                values.get(Settings.IDLE_PAUSE),
                values.get(Settings.IDLE_STOP),
                values.get(Settings.IDLE_ARCHIVE),
                values.get(Settings.IDLE_DELETE),
                values.get(Settings.IDLE_LIFETIME));
        return SessionsConfig.of(data().resolve("spool"))
                .withSpec(SessionSpec.DEFAULT
                        .withTemplate(template)
                        .withLimits(limits)
                        .withNetwork(
                                new Network(values.get(Settings.NETWORK), List.of(), List.of(), Network.Caps.DEFAULT))
                        .withIdle(idle))
                .withAuditCommands(values.get(Settings.AUDIT_COMMANDS));
    }

    /** What was set goes before what an operator may have changed since by the API; the rest stays as it is. */
    public TenantLimits tenant(TenantLimits now) {
        return new TenantLimits(
                values.has(Settings.TENANT_SESSIONS) ? values.get(Settings.TENANT_SESSIONS) : now.live(),
                values.has(Settings.TENANT_CREATED) ? values.get(Settings.TENANT_CREATED) : now.createdPerMinute(),
                values.has(Settings.TENANT_MEMORY) ? values.get(Settings.TENANT_MEMORY) : now.memoryBytes(),
                values.has(Settings.TENANT_DISK) ? values.get(Settings.TENANT_DISK) : now.diskBytes(),
                now.makesRoom());
    }

    public ServerConfig http() {
        return new ServerConfig(
                values.get(Settings.HOST),
                values.get(Settings.PORT),
                values.get(Settings.TLS_KEYSTORE)
                        .flatMap(store -> values.get(Settings.TLS_PASSWORD_FILE)
                                .map(password -> new ServerConfig.Tls(store, password))),
                values.get(Settings.BODY_MAX));
    }

    /**
     * @param e2bSecret what tokens of E2B's sandboxes are made of
     * @param sealed what channels keep in the database with these keys
     */
    public GatewayConfig gateway(
            String adminKey, Supplier<List<byte[]>> sealingKeys, String e2bSecret, List<SealedColumn> sealed) {
        return GatewayConfig.of(http(), data(), adminKey, sealingKeys)
                .withTools(ToolSettings.DEFAULT.withTimeouts(
                        values.get(Settings.TOOLS_TIMEOUT), values.get(Settings.TOOLS_LONGEST_TIMEOUT)))
                .withRates(values.get(Settings.RATE_PER_SECOND), values.get(Settings.RATE_BURST))
                .withOidc(oidc())
                .withPlainSecrets(values.get(Settings.EGRESS_PLAIN_SECRETS))
                .withOutbound(new OutboundConfig(
                        values.get(Settings.EGRESS_DNS),
                        values.get(Settings.EGRESS_AUTHORITIES),
                        values.get(Settings.NETWORK_PRIVATE_RANGES),
                        values.get(Settings.EGRESS_CONNECT_TIMEOUT),
                        values.get(Settings.EGRESS_ANSWER_TIMEOUT),
                        values.get(Settings.EGRESS_IDLE_TIMEOUT)))
                .withE2b(e2b(e2bSecret))
                .withAgents(agents())
                .withChannels(channels(), sealed)
                .withApprovalPatience(values.get(Settings.APPROVAL_TIMEOUT))
                .withArtifacts(new ArtifactsConfig(
                        data().resolve("artifacts"),
                        values.get(Settings.ARTIFACT_FOLDERS),
                        values.get(Settings.ARTIFACT_RETENTION)))
                .withJobs(JobsConfig.DEFAULT
                        .withKept(values.get(Settings.JOBS_KEPT))
                        .withAddress(values.get(Settings.PUBLIC_URL)))
                .withWebhooks(WebhooksConfig.DEFAULT.withPrivateAddresses(values.get(Settings.WEBHOOKS_PRIVATE)));
    }

    /** How E2B's clients are served, if they are. */
    Optional<E2bConfig> e2b(String secret) {
        if (!values.get(Settings.E2B)) {
            return Optional.empty();
        }
        Naming naming = new Naming(
                values.get(Settings.E2B_PORT),
                values.get(Settings.E2B_TLS_KEYSTORE)
                        .flatMap(store -> values.get(Settings.E2B_TLS_PASSWORD_FILE)
                                .map(password -> new ServerConfig.Tls(store, password))),
                values.get(Settings.E2B_PUBLIC_DOMAIN));
        return Optional.of(new E2bConfig(
                values.get(Settings.E2B_DOMAIN),
                secret.getBytes(StandardCharsets.UTF_8),
                values.get(Settings.E2B_INTERNET),
                values.get(Settings.E2B_LONGEST_TIMEOUT),
                naming));
    }

    /** Rules of what agents may reach have the model's port too: it may be the model that is at such an address. */
    private AgentsConfig agents() {
        Optional<ModelChoice> model = values.get(Settings.AGENT_MODEL_PROVIDER)
                .map(provider -> new ModelChoice(
                        provider,
                        values.get(Settings.AGENT_MODEL_NAME).orElseThrow(),
                        values.get(Settings.AGENT_MODEL_URL).map(URI::toString),
                        values.get(Settings.AGENT_MODEL_PROTOCOL),
                        values.get(Settings.AGENT_MODEL_SECRET)));
        List<Integer> ports = Stream.concat(
                        Stream.of(80, 443),
                        values.get(Settings.AGENT_MODEL_URL).map(URI::getPort).filter(port -> port > 0).stream())
                .distinct()
                .toList();
        return new AgentsConfig(
                values.get(Settings.AGENT_RUNTIME),
                model,
                values.get(Settings.AGENT_INSTRUCTIONS_FILE).orElse(AgentsConfig.DEFAULT.instructions()),
                values.get(Settings.AGENT_TEMPLATE),
                values.get(Settings.AGENT_ALLOW).stream()
                        .map(rule -> new Rule(rule.to(), ports, List.of(), List.of()))
                        .toList(),
                new Patience(
                        values.get(Settings.AGENT_START),
                        values.get(Settings.AGENT_COMMAND),
                        values.get(Settings.AGENT_RUN),
                        values.get(Settings.AGENT_SILENCE)),
                AgentsConfig.DEFAULT.runs(),
                values.get(Settings.AGENT_CHAT_URL)
                        .map(url -> new AgentsConfig.Chat(
                                url,
                                values.get(Settings.AGENT_CHAT_MODEL).orElseThrow(),
                                values.get(Settings.AGENT_CHAT_KEY))));
    }

    private ChannelsConfig channels() {
        Rate rate = new Rate(values.get(Settings.CHANNEL_BURST), values.get(Settings.CHANNEL_RATE));
        String tenant = values.get(Settings.CHANNEL_TENANT);
        Rules slack = new Rules(
                tenant,
                Set.copyOf(values.get(Settings.SLACK_ROOMS)),
                Set.copyOf(values.get(Settings.SLACK_PEOPLE)),
                Set.copyOf(values.get(Settings.SLACK_APPROVERS)),
                rate);
        Rules others = new Rules(tenant, Set.of(), Set.of(), Set.of(), rate);
        return new ChannelsConfig(
                ConversationsConfig.DEFAULT,
                (channel, _) -> channel.equals(SlackChannel.NAME) ? slack : others,
                hook().map(hook -> Map.of(values.get(Settings.CHANNEL_NAME), hook))
                        .orElse(Map.of()));
    }

    /** @throws IllegalArgumentException if what is set cannot be one */
    Optional<Hook> hook() {
        return values.get(Settings.CHANNEL_URL)
                .map(url -> Hook.of(url, values.get(Settings.CHANNEL_SECRET).orElse("")));
    }

    /**
     * Slack, if it is set up.
     *
     * @throws IllegalArgumentException if something is missing or cannot be right
     */
    public Optional<SlackConfig> slack() {
        Optional<String> bot = values.get(Settings.SLACK_BOT_TOKEN);
        Optional<String> client = values.get(Settings.SLACK_CLIENT_ID);
        if (bot.isEmpty() && client.isEmpty()) {
            return Optional.empty();
        }
        Optional<SlackConfig.OAuth> oauth = client.map(id -> new SlackConfig.OAuth(
                id,
                needed(Settings.SLACK_CLIENT_SECRET, "slack.client-id needs slack.client-secret"),
                URI.create(needed(
                                Settings.PUBLIC_URL,
                                "slack.client-id needs public-url, to which Slack sends people back")
                        + "/channels/slack/callback"),
                Set.copyOf(values.get(Settings.SLACK_WORKSPACES))));
        String api = values.get(Settings.SLACK_API).toString();
        SlackConfig config = switch (values.get(Settings.SLACK_MODE)) {
            case SOCKET ->
                SlackConfig.socket(
                        needed(
                                Settings.SLACK_APP_TOKEN,
                                "slack.mode socket needs slack.app-token (xapp-…) with connections:write"),
                        bot,
                        oauth);
            case HTTP ->
                SlackConfig.http(
                        needed(
                                Settings.SLACK_SIGNING_SECRET,
                                "slack.mode http needs slack.signing-secret, which is under Basic Information"),
                        bot,
                        oauth);
        };
        return Optional.of(config.at(URI.create(api.endsWith("/") ? api : api + "/")));
    }

    private String needed(Setting<? extends Optional<?>> setting, String otherwise) {
        return values.get(setting).map(Object::toString).orElseThrow(() -> new IllegalArgumentException(otherwise));
    }

    private Optional<OidcConfig> oidc() {
        return values.get(Settings.OIDC_ISSUER)
                .map(issuer -> new OidcConfig(
                        issuer,
                        values.get(Settings.OIDC_JWKS).orElseThrow(),
                        values.get(Settings.OIDC_AUDIENCE),
                        values.get(Settings.OIDC_TENANT_CLAIM),
                        values.get(Settings.OIDC_ADMIN_ROLE)));
    }

    /** A directory, or a URL of S3. */
    public String archive() {
        return values.get(Settings.ARCHIVE).orElse(data().resolve("archives").toString());
    }
}
