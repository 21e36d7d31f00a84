package dev.berth.cli.config;

import static dev.berth.cli.config.Types.checked;
import static java.util.function.Function.identity;
import static java.util.stream.Collectors.toMap;

import dev.berth.archive.s3.S3Config;
import dev.berth.channel.slack.SlackConfig.Mode;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.UsageException;
import dev.berth.gateway.agent.ModelChoice;
import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.sandbox.local.template.BuildConfig;
import dev.berth.sandbox.local.template.TemplateName;
import dev.berth.sandbox.local.template.oci.RegistryConfig;
import dev.berth.session.SessionKey;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.store.DatabaseConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The table of everything that can be set. Reading, help and docs/configuration.md are made of it. */
public final class Settings {
    /** Where sandboxes come from. */
    public enum ProviderKind {
        LOCAL
    }

    /** From which log lines on. */
    public enum LogLevel {
        TRACE,
        DEBUG,
        INFO,
        WARN,
        ERROR
    }

    /** What log lines look like. */
    public enum LogFormat {
        TEXT,
        JSON
    }

    private static final Pattern NAME_SERVER =
            Pattern.compile("(?:\\[([0-9a-fA-F:.]+)]|([0-9.]+|[0-9a-fA-F:]+))(?::([0-9]+))?");

    // ---- the server ----------------------------------------------------------------------------------------------

    public static final Setting<String> HOST = Setting.of(
                    "host", Types.HOST, "127.0.0.1", "The address to listen on; 0.0.0.0 is all of this machine's.")
            .flag("--host");
    public static final Setting<Integer> PORT = Setting.of(
                    "port", Types.PORT, "8080", "The port to listen on; 0 is any that is free.")
            .flag("--port");
    public static final Setting<Path> DATA = Setting.of(
                    "data", Types.PATH, "/var/lib/berth", "Where everything is kept: sandboxes, database, keys.")
            .flag("--data");
    public static final Setting<Optional<Path>> CONFIG = Setting.optional(
                    "config", Types.PATH, "none", "A YAML file with settings.")
            .flag("--config");
    public static final Setting<Optional<Path>> TLS_KEYSTORE =
            Setting.optional("tls.keystore", Types.PATH, "none", "A PKCS#12 key store, for HTTPS.");
    public static final Setting<Optional<String>> TLS_PASSWORD_FILE =
            Setting.optional("tls.password-file", Types.CONTENT, "none", "A file with the password of that key store.");
    public static final Setting<Long> BODY_MAX =
            Setting.of("body.max", size("1k", "1g"), "10m", "The largest JSON body of a request.");
    public static final Setting<Double> RATE_PER_SECOND = Setting.of(
            "rate.per-second", Types.NUMBER, "1000", "How many requests a second each key may make; 0 for no limit.");
    public static final Setting<Double> RATE_BURST =
            Setting.of("rate.burst", Types.NUMBER, "2000", "How many it may make at once after a pause.");
    public static final Setting<Optional<URI>> PUBLIC_URL = Setting.optional(
            "public-url",
            Type.of("URL", Settings::address),
            "none",
            "Where this server is reached from outside, for jobs that have to tell by themselves how they ended.");
    public static final Setting<Boolean> WEBHOOKS_PRIVATE = Setting.of(
            "webhooks.private-addresses",
            Types.SWITCH,
            "false",
            "Whether webhooks of tenants may lead to this machine and its private networks.");

    // ---- who may use it ------------------------------------------------------------------------------------------

    public static final Setting<Optional<String>> API_KEY = Setting.optional(
                    "key.api",
                    Type.of("KEY", Settings::key),
                    "a random one, in <data>/keys/api",
                    "The API key of the tenant 'default'. It replaces the one that is kept.")
            .variable("BERTH_API_KEY")
            .asSecret();
    public static final Setting<Optional<String>> ADMIN_KEY = Setting.optional(
                    "key.admin",
                    Type.of("KEY", Settings::key),
                    "a random one, in <data>/keys/admin",
                    "The operator's key. It replaces the one that is kept.")
            .variable("BERTH_ADMIN_KEY")
            .asSecret();
    public static final Setting<Optional<String>> PREVIEW_SECRET_FILE = Setting.optional(
            "preview.secret-file",
            checked(Types.CONTENT, Settings::longEnough),
            "<data>/keys/preview, made at the first start",
            "A file with the secret that preview links are signed with; the same on all servers of a database.");

    public static final Setting<Optional<String>> SEALING_KEY = Setting.optional(
                    "key.sealing",
                    Type.of("KEY,…", Settings::sealingKeys),
                    "those in <data>/keys/sealing, made at the first start",
                    "Keys by which secrets in the database are sealed, the newest first; they go before those that are kept.")
            .variable("BERTH_SEALING_KEY")
            .asSecret();
    public static final Setting<Optional<Path>> SEALING_KEY_FILE = Setting.optional(
            "sealing.key-file",
            Types.PATH,
            "none",
            "A file with more of them, one a line; the same on all servers of a database.");
    public static final Setting<List<Domain>> EGRESS_PLAIN_SECRETS = new Setting<>(
            "egress.plain-secrets",
            Type.of("HOST,…", Settings::domains),
            List.<Domain>of(),
            "none",
            "BERTH_EGRESS_PLAIN_SECRETS",
            List.of(),
            Optional.<Option<String>>empty(),
            false,
            "Hosts to which secrets may go without TLS, such as llm.internal or *.lan; whoever is on the way can read them.");

    public static final Setting<Optional<String>> OIDC_ISSUER = Setting.optional(
            "oidc.issuer",
            Type.of("URL", text -> text),
            "none",
            "The OIDC issuer whose tokens are taken as credentials.");
    public static final Setting<Optional<URI>> OIDC_JWKS = Setting.optional(
            "oidc.jwks", Type.of("URL", Settings::address), "none", "Where that issuer publishes its keys.");
    public static final Setting<String> OIDC_AUDIENCE = Setting.of(
            "oidc.audience", Type.of("NAME", text -> text), "berth", "Which audience a token has to be for.");
    public static final Setting<String> OIDC_TENANT_CLAIM = Setting.of(
            "oidc.tenant-claim",
            Type.of("NAME", text -> text),
            "tenant",
            "Which claim of a token names the tenant; the subject is the tenant if it has none.");
    public static final Setting<Optional<String>> OIDC_ADMIN_ROLE = Setting.optional(
            "oidc.admin-role",
            Type.of("NAME", text -> text),
            "none",
            "Which value in the claim 'roles' makes an operator.");

    // ---- sandboxes -----------------------------------------------------------------------------------------------

    public static final Setting<ProviderKind> PROVIDER = Setting.of(
                    "provider",
                    new Type<>("local", false, Settings::provider),
                    "local",
                    "Where sandboxes come from: this machine.")
            .alias("SANDBOX_BACKEND");
    public static final Setting<RuntimeKind> RUNTIME = Setting.of(
                    "runtime",
                    Types.oneOf(RuntimeKind.class),
                    "crun",
                    "What isolates sandboxes; runsc (gVisor) for hostile code.")
            .flag("--runtime");
    public static final Setting<Optional<Path>> TEMPLATES = Setting.optional(
                    "templates", Types.PATH, "<data>/templates", "Where templates live.")
            .flag("--templates");
    public static final Setting<String> TEMPLATE = Setting.of(
                    "template",
                    Type.of("NAME", text -> TemplateName.parse(text).toString()),
                    "base",
                    "What sessions start from; 'base' is built at the first start, 'host' needs no build.")
            .alias("SANDBOX_WORKER_IMAGE")
            .flag("--template");
    public static final Setting<Map<String, Integer>> WARM = new Setting<>(
                    "warm",
                    checked(Types.COUNTS, Settings::warm),
                    Map.<String, Integer>of(),
                    "none",
                    "BERTH_WARM",
                    List.of(),
                    Optional.<Option<String>>empty(),
                    false,
                    "How many sandboxes to keep ready, by template, such as base=2.")
            .flag("--warm");
    public static final Setting<StoreKind> STORE = Setting.of(
            "store",
            Types.oneOf(StoreKind.class),
            "auto",
            "How files are kept: on btrfs where it can be had, or plain, without disk limits.");
    public static final Setting<Optional<Long>> POOL = Setting.optional(
            "pool", Types.SIZE, "a share of the free disk", "The size of the btrfs pool file, if one has to be made.");
    public static final Setting<Optional<String>> NETWORK_RANGE = Setting.optional(
            "network.range",
            checked(Type.of("RANGE", text -> text), Settings::networkRange),
            "one that is free on the machine",
            "Where sandboxes with an open network get their addresses from, such as 10.209.0.0/16.");
    public static final Setting<Optional<List<String>>> NETWORK_RESOLVERS = Setting.optional(
            "network.resolvers",
            checked(Types.WORDS, words -> new NetworkConfig(Optional.empty(), words).resolvers()),
            "those of the machine",
            "Who answers programs in an open network that ask for names, by addresses such as 9.9.9.9.");

    public static final Setting<Optional<List<String>>> REGISTRIES = Setting.optional(
            "registries",
            checked(Types.WORDS, words -> {
                var _ = RegistryConfig.of(words, Optional.empty());
                return words;
            }),
            "none",
            "Registries at private addresses that templates may be built from, such as registry.example.com; with"
                    + " http:// in front those that are asked without TLS.");
    public static final Setting<Optional<String>> REGISTRY_MIRROR = Setting.optional(
            "registry.mirror",
            checked(Type.of("ADDRESS", text -> text), text -> {
                var _ = RegistryConfig.of(List.of(text), Optional.empty());
                return text;
            }),
            "none",
            "The registry that is asked for images of Docker Hub in its place.");

    public static final Setting<BuildConfig.Reach> BUILD_NETWORK = Setting.of(
            "build.network",
            Types.oneOf(BuildConfig.Reach.class),
            "open",
            "What the commands of templates reach that are built by the API: none, open (everything public and nothing of"
                    + " this machine or its neighbours), or host (what this machine reaches).");

    // ---- the way out ---------------------------------------------------------------------------------------------

    public static final Setting<Network.Mode> NETWORK = Setting.of(
                    "network",
                    Types.oneOf(Network.Mode.class),
                    "none",
                    "What sessions may reach that do not say: nothing, what their rules allow, or everything public.")
            .alias("E2B_ALLOW_INTERNET_ACCESS", Settings::internet)
            .flag("--network");
    public static final Setting<Optional<List<Cidr>>> NETWORK_PRIVATE_RANGES = Setting.optional(
            "network.private-ranges",
            Type.of("RANGE,…|none", Settings::ranges),
            "all",
            "Of the addresses that are not public, which ones a session's rules may name, such as 10.1.0.0/16."
                    + " To be set where there are tenants that you do not trust.");
    public static final Setting<Optional<InetSocketAddress>> EGRESS_DNS = Setting.optional(
            "egress.dns",
            Type.of("ADDRESS[:PORT]", Settings::nameServer),
            "as this machine does",
            "The DNS server that names are asked of which sandboxes want to reach.");
    public static final Setting<Optional<Path>> EGRESS_AUTHORITIES = Setting.optional(
            "egress.authorities",
            Types.PATH,
            "none",
            "A PEM file of certificates that servers may be certified by, besides the public authorities.");
    public static final Setting<Duration> EGRESS_CONNECT_TIMEOUT = Setting.of(
            "egress.connect-timeout",
            checked(Types.TIME, Settings::longerThanNothing),
            "10s",
            "How long a server outside may take to accept a connection.");
    public static final Setting<Duration> EGRESS_ANSWER_TIMEOUT = Setting.of(
            "egress.answer-timeout",
            checked(Types.TIME, Settings::longerThanNothing),
            "10m",
            "How long it may take to begin to answer, or be silent in an answer, where requests are looked at.");
    public static final Setting<Duration> EGRESS_IDLE_TIMEOUT = Setting.of(
            "egress.idle-timeout",
            checked(Types.TIME, Settings::longerThanNothing),
            "1h",
            "After which silence other connections are cut.");

    public static final Setting<Duration> TOOLS_TIMEOUT =
            Setting.of("tools.timeout", Types.TIME, "30s", "How long a call may take that does not say.");
    public static final Setting<Duration> TOOLS_LONGEST_TIMEOUT =
            Setting.of("tools.longest-timeout", Types.TIME, "10m", "How long a call may ask for.");
    public static final Setting<Duration> APPROVAL_TIMEOUT = Setting.of(
            "approval.timeout", Types.TIME, "10m", "How long a person has to allow a call before it counts as denied.");

    // ---- agents --------------------------------------------------------------------------------------------------

    public static final Setting<String> AGENT_RUNTIME = Setting.of(
            "agent.runtime", agentWord("[a-z0-9-]{1,40}", "such as pi"), "pi", "Which kind of agent sessions have.");
    public static final Setting<Optional<String>> AGENT_MODEL_PROVIDER = Setting.optional(
            "agent.model.provider",
            agentWord("[A-Za-z0-9._-]{1,64}", "such as anthropic"),
            "none",
            "Whoever serves the model that agents ask, such as anthropic. Without a model there are no agents.");
    public static final Setting<Optional<String>> AGENT_MODEL_NAME = Setting.optional(
            "agent.model.name", agentWord("[!-~]{1,200}", "without spaces"), "none", "The model that agents ask.");
    public static final Setting<Optional<URI>> AGENT_MODEL_URL = Setting.optional(
            "agent.model.url",
            Type.of("URL", Settings::address),
            "as the agent knows the provider",
            "Where the model is served, such as https://llm.example/v1.");
    public static final Setting<String> AGENT_MODEL_PROTOCOL = Setting.of(
            "agent.model.protocol",
            agentWord("[a-z0-9-]{1,40}", "such as anthropic-messages"),
            ModelChoice.PROTOCOL,
            "How it is spoken to at that URL.");
    public static final Setting<Optional<String>> AGENT_MODEL_SECRET = Setting.optional(
            "agent.model.secret",
            agentWord("[A-Za-z_][A-Za-z0-9_]{0,63}", "such as ANTHROPIC_API_KEY"),
            "none",
            "The name of the secret that has its key, which each tenant sets for itself; the key is not in the sandbox.");
    public static final Setting<Optional<String>> AGENT_INSTRUCTIONS_FILE = Setting.optional(
            "agent.instructions-file",
            Types.CONTENT,
            "what comes with Berth",
            "A file with what agents are told before a conversation.");
    public static final Setting<String> AGENT_TEMPLATE = Setting.of(
            "agent.template",
            Type.of("NAME", text -> TemplateName.parse(text).toString()),
            "agent",
            "What sessions start from that a first message makes; build it with 'berth template build agent'.");
    public static final Setting<List<Rule>> AGENT_ALLOW = new Setting<>(
            "agent.allow",
            Type.of("HOST,…", Settings::rules),
            List.<Rule>of(),
            "none",
            "BERTH_AGENT_ALLOW",
            List.of(),
            Optional.<Option<String>>empty(),
            false,
            "What such sessions may reach besides their model, such as pypi.org or 10.1.2.3. A model at a private address"
                    + " needs that address here.");
    public static final Setting<Duration> AGENT_START =
            patience("start", "2m", "How long an agent may take to come up.");
    public static final Setting<Duration> AGENT_COMMAND =
            patience("command", "1m", "How long it may take to answer what it is asked.");
    public static final Setting<Duration> AGENT_RUN = patience("run", "20m", "How long it may work on a message.");
    public static final Setting<Duration> AGENT_SILENCE =
            patience("silence", "10m", "How long it may work without a sign of life.");
    public static final Setting<Optional<URI>> AGENT_CHAT_URL = Setting.optional(
            "agent.chat.url",
            Type.of("URL", Settings::address),
            "none",
            "Of the runtime chat: where its model is served, in the way of OpenAI's API. It is asked by the server itself.");
    public static final Setting<Optional<String>> AGENT_CHAT_MODEL =
            Setting.optional("agent.chat.model", agentWord("[!-~]{1,200}", "without spaces"), "none", "That model.");
    public static final Setting<Optional<String>> AGENT_CHAT_KEY = Setting.optional(
                    "agent.chat.key", agentWord("[!-~]{1,1000}", "without spaces"), "none", "The key for it.")
            .asSecret();

    // ---- channels ------------------------------------------------------------------------------------------------

    public static final Setting<Mode> SLACK_MODE = Setting.of(
            "slack.mode",
            Types.oneOf(Mode.class),
            "socket",
            "How Slack's events come: over a connection that this server makes, or by requests to its public URL.");
    public static final Setting<Optional<String>> SLACK_BOT_TOKEN = token(
            "slack.bot-token", "xoxb-…", "The bot's token. With it, or with a client id, this server is in Slack.");
    public static final Setting<Optional<String>> SLACK_APP_TOKEN =
            token("slack.app-token", "xapp-…", "The app-level token, for the mode socket.");
    public static final Setting<Optional<String>> SLACK_SIGNING_SECRET =
            token("slack.signing-secret", "SECRET", "By which Slack signs requests, for the mode http.");
    public static final Setting<Optional<String>> SLACK_CLIENT_ID = Setting.optional(
            "slack.client-id",
            agentWord("[!-~]{1,100}", "without spaces"),
            "none",
            "Of the app, for several workspaces that install it at <public-url>/channels/slack/install.");
    public static final Setting<Optional<String>> SLACK_CLIENT_SECRET =
            token("slack.client-secret", "SECRET", "That goes with the client id.");
    public static final Setting<List<String>> SLACK_WORKSPACES = Setting.of(
            "slack.workspaces",
            ids("T012ABCDEF"),
            "",
            "Workspaces that may install it, by their ids; all if none is named.");
    public static final Setting<List<String>> SLACK_ROOMS = Setting.of(
            "slack.channels",
            ids("C012ABCDEF"),
            "",
            "Channels in which it listens, by their ids, and dm; all if none is named.");
    public static final Setting<List<String>> SLACK_PEOPLE = Setting.of(
            "slack.people", ids("U012ABCDEF"), "", "Who may use it, by their ids; everybody if none is named.");
    public static final Setting<List<String>> SLACK_APPROVERS =
            Setting.of("slack.approvers", ids("U012ABCDEF"), "", "Who may allow what others asked for, by their ids.");
    public static final Setting<URI> SLACK_API = Setting.of(
            "slack.api",
            Type.of("URL", Settings::address),
            "https://slack.com/api/",
            "Where Slack is, if it is not Slack itself.");
    public static final Setting<Optional<URI>> CHANNEL_URL = Setting.optional(
            "channel.webhook.url",
            Type.of("URL", Settings::address),
            "none",
            "A chat system of your own, which is posted what there is to see; see docs/channels.md.");
    public static final Setting<Optional<String>> CHANNEL_SECRET =
            token("channel.webhook.secret", "SECRET", "By which both sides sign; 16 characters at least.");
    public static final Setting<String> CHANNEL_NAME = Setting.of(
            "channel.webhook.name",
            agentWord("[a-z0-9-]{1,40}", "in small letters"),
            "main",
            "Its name: it posts to /channels/webhook/<name>.");
    public static final Setting<String> CHANNEL_TENANT = Setting.of(
            "channel.tenant",
            agentWord("[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "such as acme"),
            SessionKey.DEFAULT_TENANT,
            "Whose sessions the conversations in channels are.");
    public static final Setting<Integer> CHANNEL_BURST =
            Setting.of("channel.rate.burst", positive(), "10", "How many messages a person may send at once.");
    public static final Setting<Integer> CHANNEL_RATE =
            Setting.of("channel.rate.per-minute", positive(), "20", "How many a minute after that.");

    // ---- E2B's clients -------------------------------------------------------------------------------------------

    public static final Setting<Boolean> E2B =
            Setting.of("e2b.enabled", Types.SWITCH, "true", "Whether E2B's clients are served, see docs/e2b.md.");
    public static final Setting<String> E2B_DOMAIN = Setting.of(
            "e2b.domain",
            Type.of("NAME", Settings::domain),
            E2bConfig.DOMAIN,
            "What the names of ports of sandboxes end with, as <port>-<id>.<domain>.");
    public static final Setting<Optional<Integer>> E2B_PORT = Setting.optional(
            "e2b.port",
            Types.PORT,
            "the one after port, or any if that is taken",
            "The port in TLS where these names, and api.<domain>, are served; 0 is any that is free.");
    public static final Setting<Optional<Path>> E2B_TLS_KEYSTORE = Setting.optional(
            "e2b.tls.keystore",
            Types.PATH,
            "made at the first start, with <data>/e2b/ca.pem to trust it by",
            "A PKCS#12 key store with a certificate for <domain> and *.<domain>; read again every day.");
    public static final Setting<Optional<String>> E2B_TLS_PASSWORD_FILE = Setting.optional(
            "e2b.tls.password-file", Types.CONTENT, "none", "A file with the password of that key store.");
    public static final Setting<Optional<String>> E2B_PUBLIC_DOMAIN = Setting.optional(
            "e2b.public-domain",
            Type.of("NAME[:PORT]", Settings::publicDomain),
            "e2b.domain with the port",
            "What clients are told that names end with, where a proxy is in front of the server.");
    public static final Setting<Boolean> E2B_INTERNET = Setting.of(
            "e2b.internet",
            Types.SWITCH,
            "true",
            "Whether sandboxes of E2B's clients reach everything public if nobody says, as E2B's do.");
    public static final Setting<Duration> E2B_LONGEST_TIMEOUT = Setting.of(
            "e2b.timeout.longest",
            checked(Types.TIME, Settings::longerThanNothing),
            "30d",
            "The longest time for which a sandbox can be asked to stay.");
    public static final Setting<Optional<String>> E2B_SECRET_FILE = Setting.optional(
            "e2b.secret-file",
            checked(Types.CONTENT, Settings::longEnough),
            "<data>/keys/e2b-tokens, made at the first start",
            "A file with the secret that tokens of sandboxes are made of; the same on all servers of a database.");

    // ---- sessions ------------------------------------------------------------------------------------------------

    public static final Setting<Long> LIMITS_MEMORY = Setting.of(
                    "limits.memory",
                    checked(Types.SIZE, it -> Limits.DEFAULT.withMemory(it).memoryBytes()),
                    "512m",
                    "Memory of a session.")
            .alias("SANDBOX_MEM_LIMIT");
    public static final Setting<Double> LIMITS_CPUS = Setting.of(
            "limits.cpus",
            checked(Types.NUMBER, it -> Limits.DEFAULT.withCpus(it).cpus()),
            "0",
            "Processors' worth of time of a session; 0 for no ceiling.");
    public static final Setting<Integer> LIMITS_PIDS = Setting.of(
            "limits.pids",
            checked(Types.COUNT, it -> Limits.DEFAULT.withPids(it).pids()),
            "256",
            "Processes and threads of a session at a time.");
    public static final Setting<Long> LIMITS_DISK = Setting.of(
            "limits.disk",
            checked(Types.SIZE, it -> Limits.DEFAULT.withDisk(it).diskBytes()),
            "10g",
            "What a session may write; 0 for no ceiling.");
    public static final Setting<Long> LIMITS_OUTPUT = Setting.of(
            "limits.output",
            checked(Types.SIZE, it -> (long) Limits.DEFAULT
                    .withOutput(Math.toIntExact(Math.min(it, Integer.MAX_VALUE)))
                    .outputBytes()),
            "1m",
            "How much unread output of a command is kept.");
    public static final Setting<Optional<Duration>> IDLE_PAUSE = idle(
                    "pause", "10m", "Unused for so long, it is paused.")
            .alias("SANDBOX_IDLE_TIMEOUT", text -> text.matches("[0-9]+") ? text + "s" : text);
    public static final Setting<Optional<Duration>> IDLE_STOP =
            idle("stop", "60m", "Unused for so long, its processes are ended.");
    public static final Setting<Optional<Duration>> IDLE_ARCHIVE =
            idle("archive", "2h", "Stopped for so long, its files are packed away.");
    public static final Setting<Optional<Duration>> IDLE_DELETE =
            idle("delete", "7d", "Unused for so long, it is deleted.");
    public static final Setting<Optional<Duration>> IDLE_LIFETIME =
            idle("lifetime", "never", "So long after it was made it is deleted, used or not.");
    public static final Setting<Duration> JOBS_KEPT =
            Setting.of("jobs.kept", Types.TIME, "7d", "How long the result of a job in the background is kept.");
    public static final Setting<Boolean> AUDIT_COMMANDS = Setting.of(
            "audit.commands", Types.SWITCH, "false", "Whether the text of commands is written to the event log.");

    // ---- the tenant 'default' ------------------------------------------------------------------------------------

    public static final Setting<Optional<Integer>> TENANT_SESSIONS = Setting.of(
                    "tenant.sessions",
                    Types.COUNT.or("none"),
                    "50",
                    "Sessions of the tenant 'default' that may be up at a time.")
            .alias("SANDBOX_MAX_SESSIONS");
    public static final Setting<Optional<Integer>> TENANT_CREATED = Setting.of(
            "tenant.created-per-minute", Types.COUNT.or("none"), "120", "Sandboxes it may make within a minute.");
    public static final Setting<Optional<Long>> TENANT_MEMORY =
            Setting.of("tenant.memory", Types.SIZE.or("none"), "none", "Memory limits of its live sessions, in sum.");
    public static final Setting<Optional<Long>> TENANT_DISK =
            Setting.of("tenant.disk", Types.SIZE.or("none"), "none", "Files of all its sessions, in sum.");

    // ---- what is kept, and what is told --------------------------------------------------------------------------

    public static final Setting<Optional<DatabaseConfig>> DATABASE_URL = Setting.optional(
                    "database.url",
                    Type.of("URL", DatabaseConfig::parse),
                    "an embedded PostgreSQL in <data>/postgres",
                    "A PostgreSQL, such as postgres://user:password@host:5432/berth.")
            .alias("DATABASE_URL")
            .asSecret();
    public static final Setting<Optional<String>> ARCHIVE = Setting.optional(
            "archive",
            Type.of("PATH|URL", Settings::archive),
            "<data>/archives",
            "Where archived sessions go: a directory, or s3://bucket/prefix?endpoint=…&region=….");
    public static final Setting<List<String>> ARTIFACT_FOLDERS = Setting.of(
            "artifact.folders",
            checked(Types.WORDS, Settings::folders),
            "output/display,output",
            "Folders of the workspace whose files become artifacts, those of the first one first.");
    public static final Setting<Duration> ARTIFACT_RETENTION = Setting.of(
            "artifact.retention",
            checked(Types.TIME, Settings::someTime),
            "30d",
            "How long artifacts are kept, also when their session is gone.");
    public static final Setting<LogLevel> LOG_LEVEL = Setting.of(
                    "log.level", Types.oneOf(LogLevel.class), "warn", "From which level on log lines go to stderr.")
            .variable("BERTH_LOG")
            .flag("--log");
    public static final Setting<LogFormat> LOG_FORMAT =
            Setting.of("log.format", Types.oneOf(LogFormat.class), "text", "Log lines as text, or each as JSON.");

    /** Parts of the table, by what they are about. */
    static final Map<String, List<Setting<?>>> PARTS = parts();

    static final List<Setting<?>> ALL =
            PARTS.values().stream().<Setting<?>>flatMap(List::stream).toList();

    static final Map<String, Setting<?>> BY_NAME =
            ALL.stream().collect(toMap(Setting::name, identity(), (a, _) -> a, LinkedHashMap::new));

    /** All variables that mean something. */
    static final Set<String> VARIABLES = ALL.stream()
            .flatMap(it ->
                    Stream.concat(Stream.of(it.env()), it.aliases().stream().map(Setting.Alias::variable)))
            .collect(Collectors.toUnmodifiableSet());

    private Settings() {}

    /** The options of {@code berth up}. */
    public static List<Option<?>> options() {
        return ALL.stream().<Option<?>>flatMap(it -> it.flag().stream()).toList();
    }

    private static Map<String, List<Setting<?>>> parts() {
        Map<String, List<Setting<?>>> parts = new LinkedHashMap<>();
        parts.put(
                "The server",
                List.of(
                        HOST,
                        PORT,
                        DATA,
                        CONFIG,
                        TLS_KEYSTORE,
                        TLS_PASSWORD_FILE,
                        BODY_MAX,
                        RATE_PER_SECOND,
                        RATE_BURST,
                        PUBLIC_URL,
                        WEBHOOKS_PRIVATE));
        parts.put(
                "Who may use it",
                List.of(
                        API_KEY,
                        ADMIN_KEY,
                        PREVIEW_SECRET_FILE,
                        SEALING_KEY,
                        SEALING_KEY_FILE,
                        OIDC_ISSUER,
                        OIDC_JWKS,
                        OIDC_AUDIENCE,
                        OIDC_TENANT_CLAIM,
                        OIDC_ADMIN_ROLE));
        parts.put(
                "Sandboxes",
                List.of(
                        PROVIDER,
                        RUNTIME,
                        TEMPLATES,
                        TEMPLATE,
                        WARM,
                        STORE,
                        POOL,
                        NETWORK_RANGE,
                        NETWORK_RESOLVERS,
                        REGISTRIES,
                        REGISTRY_MIRROR,
                        BUILD_NETWORK));
        parts.put(
                "Sessions",
                List.of(
                        LIMITS_MEMORY,
                        LIMITS_CPUS,
                        LIMITS_PIDS,
                        LIMITS_DISK,
                        LIMITS_OUTPUT,
                        IDLE_PAUSE,
                        IDLE_STOP,
                        IDLE_ARCHIVE,
                        IDLE_DELETE,
                        IDLE_LIFETIME,
                        TOOLS_TIMEOUT,
                        TOOLS_LONGEST_TIMEOUT,
                        APPROVAL_TIMEOUT,
                        JOBS_KEPT,
                        AUDIT_COMMANDS));
        parts.put(
                "The way out",
                List.of(
                        NETWORK,
                        NETWORK_PRIVATE_RANGES,
                        EGRESS_DNS,
                        EGRESS_AUTHORITIES,
                        EGRESS_PLAIN_SECRETS,
                        EGRESS_CONNECT_TIMEOUT,
                        EGRESS_ANSWER_TIMEOUT,
                        EGRESS_IDLE_TIMEOUT));
        parts.put(
                "Agents",
                List.of(
                        AGENT_RUNTIME,
                        AGENT_MODEL_PROVIDER,
                        AGENT_MODEL_NAME,
                        AGENT_MODEL_URL,
                        AGENT_MODEL_PROTOCOL,
                        AGENT_MODEL_SECRET,
                        AGENT_INSTRUCTIONS_FILE,
                        AGENT_TEMPLATE,
                        AGENT_ALLOW,
                        AGENT_START,
                        AGENT_COMMAND,
                        AGENT_RUN,
                        AGENT_SILENCE,
                        AGENT_CHAT_URL,
                        AGENT_CHAT_MODEL,
                        AGENT_CHAT_KEY));
        parts.put(
                "Channels",
                List.of(
                        SLACK_MODE,
                        SLACK_BOT_TOKEN,
                        SLACK_APP_TOKEN,
                        SLACK_SIGNING_SECRET,
                        SLACK_CLIENT_ID,
                        SLACK_CLIENT_SECRET,
                        SLACK_WORKSPACES,
                        SLACK_ROOMS,
                        SLACK_PEOPLE,
                        SLACK_APPROVERS,
                        SLACK_API,
                        CHANNEL_URL,
                        CHANNEL_SECRET,
                        CHANNEL_NAME,
                        CHANNEL_TENANT,
                        CHANNEL_BURST,
                        CHANNEL_RATE));
        parts.put(
                "E2B's clients",
                List.of(
                        E2B,
                        E2B_DOMAIN,
                        E2B_PORT,
                        E2B_TLS_KEYSTORE,
                        E2B_TLS_PASSWORD_FILE,
                        E2B_PUBLIC_DOMAIN,
                        E2B_INTERNET,
                        E2B_LONGEST_TIMEOUT,
                        E2B_SECRET_FILE));
        parts.put("The tenant `default`", List.of(TENANT_SESSIONS, TENANT_CREATED, TENANT_MEMORY, TENANT_DISK));
        parts.put(
                "What is kept and told",
                List.of(DATABASE_URL, ARCHIVE, ARTIFACT_FOLDERS, ARTIFACT_RETENTION, LOG_LEVEL, LOG_FORMAT));
        return parts;
    }

    private static Setting<Optional<Duration>> idle(String step, String standard, String description) {
        return Setting.of("idle." + step, Types.TIME.or("never"), standard, description);
    }

    private static Setting<Duration> patience(String what, String standard, String description) {
        return Setting.of(
                "agent.patience." + what, checked(Types.TIME, Settings::longerThanNothing), standard, description);
    }

    private static Setting<Optional<String>> token(String name, String label, String description) {
        return Setting.optional(
                        name,
                        Type.of(
                                label,
                                agentWord("[!-~]{1,1000}", "without spaces").reader()),
                        "none",
                        description)
                .asSecret();
    }

    private static Type<List<String>> ids(String example) {
        return Type.of("ID,…", text -> {
            List<String> ids = text.isBlank() ? List.of() : Types.WORDS.reader().apply(text);
            if (!ids.stream().allMatch(id -> id.matches("[A-Za-z0-9]{1,40}"))) {
                throw new UsageException("these are no ids; write them such as " + example + ", with commas");
            }
            return ids;
        });
    }

    private static Type<Integer> positive() {
        return Type.of("N", Option.atLeast(1));
    }

    private static Type<String> agentWord(String pattern, String hint) {
        return Type.of("NAME", text -> {
            if (!text.matches(pattern)) {
                throw new UsageException("this cannot be one; write it " + hint);
            }
            return text;
        });
    }

    private static List<Rule> rules(String text) {
        return Network.restricted(
                        Types.WORDS.reader().apply(text).stream().map(Rule::to).toArray(Rule[]::new))
                .allow();
    }

    private static Type<Long> size(String least, String most) {
        long low = Types.SIZE.reader().apply(least);
        long high = Types.SIZE.reader().apply(most);
        return checked(Types.SIZE, bytes -> {
            if (bytes < low || bytes > high) {
                throw new UsageException("it has to be " + least + " to " + most);
            }
            return bytes;
        });
    }

    private static ProviderKind provider(String name) {
        return switch (name) {
            case "local" -> ProviderKind.LOCAL;
            case "docker", "e2b" ->
                throw new UsageException("Berth has no provider for '" + name + "' yet; take local, or unset it");
            default -> throw new UsageException("there is no provider '" + name + "'; take local");
        };
    }

    private static String networkRange(String range) {
        return new NetworkConfig(Optional.of(range), List.of()).range().orElseThrow();
    }

    /** Others only know whether there is one. */
    private static String internet(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true", "yes", "on", "1" -> "open";
            case "false", "no", "off", "0" -> "none";
            default -> text;
        };
    }

    private static InetSocketAddress nameServer(String text) {
        Matcher parts = NAME_SERVER.matcher(text);
        if (parts.matches()) {
            String host = parts.group(1) == null ? parts.group(2) : parts.group(1);
            int port = parts.group(3) == null ? 53 : Types.PORT.reader().apply(parts.group(3));
            try {
                return new InetSocketAddress(InetAddress.ofLiteral(host), port);
            } catch (IllegalArgumentException e) {
                // told below
            }
        }
        throw new UsageException("'" + text + "' is not the address of a DNS server, such as 9.9.9.9 or [::1]:5353");
    }

    private static String domain(String text) {
        String name = text.toLowerCase(Locale.ROOT);
        // Two labels at least: clients take no wildcard right below the top.
        if (!name.matches("(?=.{3,190}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9-]*[a-z][a-z0-9-]*")) {
            throw new UsageException("'" + text + "' is no domain; write one such as sbx.example.com");
        }
        return name;
    }

    private static String publicDomain(String text) {
        int colon = text.indexOf(':');
        if (colon < 0) {
            return domain(text);
        }
        int port = Types.PORT.reader().apply(text.substring(colon + 1));
        return domain(text.substring(0, colon)) + ":" + port;
    }

    private static Duration longerThanNothing(Duration time) {
        if (!time.isPositive()) {
            throw new UsageException("it has to be longer than nothing");
        }
        return time;
    }

    private static Map<String, Integer> warm(Map<String, Integer> counts) {
        counts.forEach((name, count) -> {
            TemplateName.parse(name);
            if (count > 1000) {
                throw new UsageException("a warm pool has 0 to 1000 sandboxes");
            }
        });
        return counts;
    }

    private static String archive(String text) {
        if (text.startsWith("s3:")) {
            S3Config.of(text);
            return text;
        }
        return Types.PATH.reader().apply(text).toString();
    }

    private static List<String> folders(List<String> folders) {
        return new ArtifactsConfig(Path.of("artifacts"), folders, ArtifactsConfig.RETENTION).folders();
    }

    private static Duration someTime(Duration time) {
        return new ArtifactsConfig(Path.of("artifacts"), ArtifactsConfig.FOLDERS, time).retention();
    }

    private static URI address(String text) {
        try {
            URI address = new URI(text);
            if (address.getHost() != null
                    && ("https".equals(address.getScheme()) || "http".equals(address.getScheme()))) {
                return address;
            }
        } catch (URISyntaxException e) {
            // told below
        }
        throw new UsageException("it has to be an address such as https://issuer.example/keys");
    }

    private static String key(String text) {
        ApiKeys.check(text);
        return text;
    }

    private static String sealingKeys(String text) {
        for (String key : text.split("[,\\s]+")) {
            if (!key.matches("[0-9a-fA-F]{64}")) {
                throw new UsageException(
                        "a key for sealing has 64 hexadecimal digits; make one with 'openssl rand -hex 32'");
            }
        }
        return text;
    }

    private static List<Cidr> ranges(String text) {
        if (text.equals("none")) {
            return List.of();
        }
        return Types.WORDS.reader().apply(text).stream()
                .map(range -> {
                    if (Destination.parse(range) instanceof Cidr addresses) {
                        return addresses;
                    }
                    throw new UsageException("'" + range + "' is a name; write a range of addresses, or none");
                })
                .toList();
    }

    private static List<Domain> domains(String text) {
        return Types.WORDS.reader().apply(text).stream()
                .map(host -> {
                    if (Destination.parse(host) instanceof Domain domain) {
                        return domain;
                    }
                    throw new UsageException("'" + host + "' is an address; secrets are bound to names");
                })
                .toList();
    }

    private static String longEnough(String secret) {
        if (secret.length() < 32) {
            throw new UsageException("the secret in it is too short; take at least 32 characters");
        }
        return secret;
    }
}
