package dev.berth.cli.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.berth.cli.args.Syntax;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

class ValuesTest {
    private static final Syntax UP =
            new Syntax("up", "", List.of(""), Syntax.Operands.NONE, Settings.options(), List.of());

    @TempDir
    Path directory;

    /** Every setting, a value that is right, and one that is wrong. */
    static final List<Arguments> EXAMPLES = List.of(
            example("host", "0.0.0.0", "not a host"),
            example("port", "0", "70000"),
            example("data", "/srv/berth", "\0"),
            example("body.max", "1m", "1"),
            example("rate.per-second", "0.5", "-1"),
            example("rate.burst", "7", "many"),
            example("public-url", "https://berth.example", "berth"),
            example("webhooks.private-addresses", "true", "maybe"),
            example("key.api", "a-key-of-my-own-choice-1234", "short"),
            example("key.admin", "berth_operator-operator-1", "with a space in the middle of it"),
            example("key.sealing", "0123456789abcdef".repeat(4), "0123"),
            example("egress.plain-secrets", "llm.internal,*.lan.example", "10.0.0.0/8"),
            example("network", "restricted", "everything"),
            example("network.private-ranges", "10.1.0.0/16,fd00::/8", "intranet.example"),
            example("network.range", "10.209.0.0/16", "everywhere"),
            example("network.resolvers", "9.9.9.9,149.112.112.112", "ns.example"),
            example("egress.dns", "[::1]:5353", "ns.example"),
            example("egress.authorities", "/etc/ssl/company.pem", "\0"),
            example("egress.connect-timeout", "5s", "0s"),
            example("egress.answer-timeout", "1m", "long"),
            example("egress.idle-timeout", "1d", "0s"),
            example("agent.runtime", "pi", "Pi!"),
            example("agent.template", "agent:2", "Some/Image:latest"),
            example("agent.allow", "pypi.org,10.1.2.3", "*.com"),
            example("agent.patience.start", "30s", "0s"),
            example("agent.patience.command", "10s", "soon"),
            example("agent.patience.run", "1h", "0s"),
            example("agent.patience.silence", "5m", "x"),
            example("slack.workspaces", "T012AB,T013CD", "acme.slack.com"),
            example("slack.channels", "C012AB,dm", "#general"),
            example("slack.people", "U012AB", "@ann"),
            example("slack.approvers", "U012AB,U013CD", "ann smith"),
            example("slack.api", "http://127.0.0.1:9/api/", "slack"),
            example("slack.mode", "http", "email"),
            example("slack.app-token", "xapp-1", "two words"),
            example("slack.signing-secret", "0123abcd", "two words"),
            example("slack.client-secret", "0123abcd", "two words"),
            example("channel.webhook.name", "chat", "My Chat"),
            example("channel.webhook.secret", "sixteen-characters", "two words"),
            example("channel.tenant", "acme", "a b"),
            example("channel.rate.burst", "5", "0"),
            example("channel.rate.per-minute", "60", "fast"),
            example("e2b.enabled", "false", "perhaps"),
            example("registries", "registry.example.com,http://127.0.0.1:5000", "not a name"),
            example("registry.mirror", "mirror.example.com", "not a name"),
            example("build.network", "host", "lan"),
            example("e2b.domain", "boxes.example.com", "localhost"),
            example("e2b.port", "8443", "70000"),
            example("e2b.public-domain", "boxes.example.com:8443", "https://boxes.example.com"),
            example("e2b.internet", "false", "some"),
            example("e2b.timeout.longest", "24h", "0s"),
            example("provider", "local", "docker"),
            example("runtime", "runsc", "podman"),
            example("templates", "/srv/templates", "\0"),
            example("template", "host", "Some/Image:latest"),
            example("warm", "base=2,host=1", "base"),
            example("store", "plain", "zfs"),
            example("pool", "20g", "large"),
            example("limits.memory", "1g", "1k"),
            example("limits.cpus", "0.5", "5000"),
            example("limits.pids", "64", "2"),
            example("limits.disk", "0", "1k"),
            example("limits.output", "2m", "1g"),
            example("idle.pause", "never", "10"),
            example("idle.stop", "2h", "soon"),
            example("idle.archive", "never", "1w"),
            example("idle.delete", "30d", "0d"),
            example("idle.lifetime", "1d", "x"),
            example("tools.timeout", "45s", "soon"),
            example("tools.longest-timeout", "1h", "x"),
            example("approval.timeout", "5m", "x"),
            example("jobs.kept", "1d", "long"),
            example("audit.commands", "true", "maybe"),
            example("tenant.sessions", "none", "-1"),
            example("tenant.created-per-minute", "10", "ten"),
            example("tenant.memory", "8g", "8 g"),
            example("tenant.disk", "none", "?"),
            example("database.url", "postgres://ada:pw@db:5432/berth", "mysql://ada:secret@db/berth"),
            example("archive", "s3://bucket/berth", "s3://key:secret@bucket"),
            example("artifact.folders", "figures", "../out"),
            example("artifact.retention", "7d", "0s"),
            example("log.level", "debug", "loud"),
            example("log.format", "json", "xml"));

    private static Arguments example(String name, String right, String wrong) {
        return Arguments.of(name, right, wrong);
    }

    @Test
    void hasAnExampleOfEverySettingThatStandsAlone() {
        assertThat(EXAMPLES.stream().map(it -> it.get()[0]))
                .containsExactlyInAnyOrderElementsOf(Settings.BY_NAME.keySet().stream()
                        .filter(it -> !it.equals("config")
                                && !it.endsWith("-file")
                                && !it.startsWith("tls.")
                                && !it.startsWith("e2b.tls.")
                                && !it.startsWith("agent.model.")
                                && !it.startsWith("agent.chat.")
                                && !it.equals("slack.bot-token")
                                && !it.equals("slack.client-id")
                                && !it.equals("channel.webhook.url")
                                && !it.startsWith("oidc."))
                        .toList());
    }

    @ParameterizedTest
    @FieldSource("EXAMPLES")
    void isReadFromTheFileTheEnvironmentAndTheOptionInThisOrder(String name, String right, String wrong)
            throws IOException {
        Setting<?> setting = setting(name);
        Object wanted = setting.type().reader().apply(right);
        Path file = file(name + ": " + quoted(right));
        assertThat(read(Map.of()).get(setting)).isEqualTo(setting.standard());
        assertThat(read(Map.of(), "--config", file.toString()).get(setting)).isEqualTo(wanted);
        assertThat(read(Map.of(setting.env(), right)).get(setting)).isEqualTo(wanted);
        assertThat(read(Map.of(setting.env(), "")).get(setting)).isEqualTo(setting.standard());
        for (Setting.Alias alias : setting.aliases()) {
            assertThat(read(Map.of(alias.variable(), right)).get(setting)).isEqualTo(wanted);
        }
        setting.flag()
                .ifPresent(flag -> assertThat(
                                read(Map.of(), flag.names().getLast(), right).get(setting))
                        .isEqualTo(wanted));
    }

    @ParameterizedTest
    @FieldSource("EXAMPLES")
    void isRefusedWithItsPlaceWhenItIsWrong(String name, String right, String wrong) throws IOException {
        Setting<?> setting = setting(name);
        assertThat(problems(Map.of(setting.env(), wrong))).contains("\n  " + setting.env() + ": ");
        if (!wrong.equals("\0")) {
            Path file = file("# a comment\n" + name + ": " + quoted(wrong));
            assertThat(problems(Map.of(), "--config", file.toString())).contains(file + " line 2: " + name + ": ");
        }
        if (setting.secret()) {
            assertThat(problems(Map.of(setting.env(), wrong))).doesNotContain(wrong, "secret@");
        }
    }

    @Test
    void slackIsSetUpAsAWhole() {
        assertThat(problems(Map.of("BERTH_SLACK_BOT_TOKEN", "xoxb-1"))).contains("slack.app-token");
        assertThat(problems(Map.of("BERTH_SLACK_BOT_TOKEN", "xoxb-1", "BERTH_SLACK_MODE", "http")))
                .contains("slack.signing-secret");
        assertThat(problems(Map.of("BERTH_SLACK_BOT_TOKEN", "wrong-1", "BERTH_SLACK_APP_TOKEN", "xapp-1")))
                .contains("begins with xoxb-")
                .doesNotContain("wrong-1");
        assertThat(problems(Map.of("BERTH_SLACK_CLIENT_ID", "1.2", "BERTH_SLACK_APP_TOKEN", "xapp-1")))
                .contains("slack.client-secret");
        var slack = new ServerSettings(
                        read(Map.of("BERTH_SLACK_BOT_TOKEN", "xoxb-1", "BERTH_SLACK_APP_TOKEN", "xapp-1")))
                .slack()
                .orElseThrow();
        assertThat(slack.api()).hasToString("https://slack.com/api/");
        assertThat(new ServerSettings(read(Map.of())).slack()).isEmpty();
    }

    @Test
    void aChatSystemOfOnesOwnNeedsASecret() {
        assertThat(problems(Map.of("BERTH_CHANNEL_WEBHOOK_URL", "https://chat.example/berth")))
                .contains("16 characters");
    }

    @Test
    void whatIsSetOfE2bGetsToWhereItIsUsed() {
        var usual = new ServerSettings(read(Map.of())).e2b("secret").orElseThrow();
        assertThat(usual.domain()).isEqualTo("sbx.localhost");
        assertThat(usual.secret()).isEqualTo("secret".getBytes(StandardCharsets.UTF_8));
        assertThat(usual.internet()).isTrue();
        assertThat(usual.longestTimeout()).isEqualTo(Duration.ofDays(30));
        assertThat(usual.naming()).isEqualTo(E2bConfig.Naming.DEFAULT);
        var other = new ServerSettings(read(Map.of(
                        "BERTH_E2B_DOMAIN", "Boxes.Example.com",
                        "BERTH_E2B_PORT", "0",
                        "BERTH_E2B_PUBLIC_DOMAIN", "public.example.com",
                        "BERTH_E2B_INTERNET", "false",
                        "BERTH_E2B_TIMEOUT_LONGEST", "24h")))
                .gateway("berth_key", List::of, "secret", List.of())
                .features()
                .e2b()
                .orElseThrow();
        assertThat(other.domains()).containsExactly("boxes.example.com", "public.example.com");
        assertThat(other.naming().port()).contains(0);
        assertThat(other.internet()).isFalse();
        assertThat(other.longestTimeout()).isEqualTo(Duration.ofHours(24));
        assertThat(new ServerSettings(read(Map.of("BERTH_E2B_ENABLED", "false"))).e2b("secret"))
                .isEmpty();
    }

    @Test
    void whatCannotBeTogetherOfE2bIsSaid() {
        assertThat(problems(Map.of("BERTH_E2B_TLS_KEYSTORE", "/etc/berth/sbx.p12")))
                .contains("e2b.tls.keystore and e2b.tls.password-file go together");
        assertThat(problems(Map.of("BERTH_PORT", "9000", "BERTH_E2B_PORT", "9000")))
                .contains("the port of the API too");
    }

    @Test
    void aModelIsSetUpAsAWhole() {
        Map<String, String> whole = Map.of(
                "BERTH_AGENT_MODEL_PROVIDER", "anthropic",
                "BERTH_AGENT_MODEL_NAME", "claude",
                "BERTH_AGENT_MODEL_SECRET", "ANTHROPIC_API_KEY");
        var agents = new ServerSettings(read(whole))
                .gateway("berth_key", List::of, "secret", List.of())
                .features()
                .agents();
        assertThat(agents.model().orElseThrow().secret()).contains("ANTHROPIC_API_KEY");
        assertThat(agents.instructions()).contains("showFile", "output/display/");
        for (String name : whole.keySet()) {
            assertThat(problems(Map.of(name, whole.get(name)))).contains("agent.model.provider and agent.model.name");
        }
        assertThat(problems(Map.of("BERTH_AGENT_CHAT_URL", "https://llm.example/v1")))
                .contains("agent.chat.model");
        assertThat(problems(Map.of("BERTH_AGENT_MODEL_URL", "llm", "BERTH_AGENT_CHAT_KEY", "a key with spaces")))
                .contains("BERTH_AGENT_MODEL_URL", "BERTH_AGENT_CHAT_KEY")
                .doesNotContain("a key with");
    }

    @Test
    void anOptionGoesBeforeAVariableAndThatBeforeTheFile() throws IOException {
        Path file = file("port: 1\nhost: 1.1.1.1\ntemplate: one\nruntime: runc");
        Values values = read(
                Map.of("BERTH_CONFIG", file.toString(), "BERTH_PORT", "2", "BERTH_HOST", "2.2.2.2"), "--port", "3");
        assertThat(values.get(Settings.PORT)).isEqualTo(3);
        assertThat(values.get(Settings.HOST)).isEqualTo("2.2.2.2");
        assertThat(values.get(Settings.TEMPLATE)).isEqualTo("one");
        assertThat(values.get(Settings.RUNTIME)).isEqualTo(RuntimeKind.RUNC);
        assertThat(values.has(Settings.PORT)).isTrue();
        assertThat(values.has(Settings.DATA)).isFalse();
    }

    @Test
    void dotsAreLevelsInTheFile() throws IOException {
        Path file = file("""
                limits:
                  memory: 1g
                  pids: 512
                idle:
                  pause: 5m
                  delete: never
                warm:
                  base: 2
                  host: 1
                audit.commands: true
                """);
        Values values = read(Map.of(), "--config", file.toString());
        assertThat(values.get(Settings.LIMITS_MEMORY)).isEqualTo(1L << 30);
        assertThat(values.get(Settings.LIMITS_PIDS)).isEqualTo(512);
        assertThat(values.get(Settings.IDLE_PAUSE)).contains(Duration.ofMinutes(5));
        assertThat(values.get(Settings.IDLE_DELETE)).isEmpty();
        assertThat(values.get(Settings.WARM)).isEqualTo(Map.of("base", 2, "host", 1));
        assertThat(values.get(Settings.AUDIT_COMMANDS)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "SANDBOX_IDLE_TIMEOUT, 900, idle.pause, 15m",
        "SANDBOX_MEM_LIMIT, 512m, limits.memory, 512m",
        "SANDBOX_MAX_SESSIONS, 7, tenant.sessions, 7",
        "SANDBOX_WORKER_IMAGE, analytics, template, analytics",
        "SANDBOX_BACKEND, local, provider, local",
        "DATABASE_URL, postgres://a:b@c/d, database.url, postgres://a:b@c/d",
        "E2B_ALLOW_INTERNET_ACCESS, TRUE, network, open",
        "E2B_ALLOW_INTERNET_ACCESS, 0, network, none",
    })
    void readsVariablesOfOtherPrograms(String variable, String text, String name, String same) {
        Setting<?> setting = setting(name);
        assertThat(read(Map.of(variable, text)).get(setting))
                .isEqualTo(setting.type().reader().apply(same));
    }

    @Test
    void itsOwnVariableGoesBeforeAnotherProgramsOne() {
        assertThat(read(Map.of("SANDBOX_MAX_SESSIONS", "7", "BERTH_TENANT_SESSIONS", "8"))
                        .get(Settings.TENANT_SESSIONS))
                .contains(8);
    }

    @ParameterizedTest
    @CsvSource({
        "SANDBOX_BACKEND, docker, Berth has no provider for 'docker' yet",
        "SANDBOX_BACKEND, e2b, Berth has no provider for 'e2b' yet",
        "SANDBOX_GPU_ENABLED, true, sandboxes have no GPU",
        "SANDBOX_GPU_NETWORK_ENABLED, 1, sandboxes have no GPU",
        "E2B_ALLOW_INTERNET_ACCESS, perhaps, there is no 'perhaps' here",
    })
    void refusesByNameWhatIsNotThere(String variable, String value, String sentence) {
        assertThat(problems(Map.of(variable, value))).contains("\n  " + variable + ": " + sentence);
    }

    @Test
    void takesNoNoticeOfWhatIsNotAskedFor() {
        read(Map.of("SANDBOX_GPU_ENABLED", "false", "E2B_API_KEY", "x", "PATH", "/"));
    }

    @Test
    void listsEverythingThatIsWrongAtOnce() throws IOException {
        Path file = file("""
                prot: 8080
                limits:
                  memroy: 1g
                  pids: many
                idle: 10m
                runtime:
                warm: [a, b]
                host: [1.1.1.1]
                port: 1
                port: 2
                config: other.yaml
                colour: green
                """);
        assertThat(problems(
                        Map.of("BERTH_PROT", "1", "BERTH_RUNTIME", "x"), "--config", file.toString(), "--port", "x"))
                .startsWith("13 settings are wrong, so nothing was started:\n")
                .contains("BERTH_PROT: there is no setting BERTH_PROT; did you mean BERTH_PORT?")
                .contains("BERTH_RUNTIME: there is no 'x' here; take crun, runc or runsc")
                .contains("--port: 'x' is no port")
                .contains(file + " line 1: there is no setting prot; did you mean port?")
                .contains(file + " line 3: there is no setting limits.memroy; did you mean limits.memory?")
                .contains(file + " line 4: limits.pids: 'many' is not a whole number")
                .contains(file + " line 5: idle has no value of its own; below it are idle.pause, ")
                .contains(file + " line 6: runtime has no value")
                .contains(file + " line 7: warm takes one value")
                .contains(file + " line 8: host takes one value: HOST")
                .contains(file + " line 10: port was set before, at " + file + " line 9")
                .contains(file + " line 11: a file cannot name another one")
                .contains(file + " line 12: there is no setting colour; docs/configuration.md lists those there are");
    }

    @Test
    void saysWhatIsWrongWithAFileAsAWhole() throws IOException {
        assertThat(problems(Map.of("BERTH_CONFIG", "/nowhere/berth.yaml")))
                .contains("/nowhere/berth.yaml: there is no such file");
        Path list = file("- a\n- b\n");
        assertThat(problems(Map.of(), "--config", list.toString())).contains(list + " line 1: this is no setting");
        Path broken = file("key:\n  api: \"berth_not-for-your-eyes-at-all\n");
        assertThat(problems(Map.of(), "--config", broken.toString()))
                .contains(broken + " line ")
                .contains("this is not YAML")
                .doesNotContain("not-for-your-eyes");
        read(Map.of("BERTH_CONFIG", file("# nothing\n").toString()));
    }

    @Test
    void refusesWhatDoesNotGoTogether() throws IOException {
        String key = "the-same-key-for-both-of-them";
        assertThat(problems(Map.of("BERTH_API_KEY", key, "BERTH_ADMIN_KEY", key)))
                .contains("key.api and key.admin are the same")
                .doesNotContain(key);
        assertThat(problems(Map.of("BERTH_TLS_KEYSTORE", "/nowhere.p12"))).contains("go together");
        Path password = Files.writeString(directory.resolve("password"), "changeit\n");
        assertThat(problems(
                        Map.of("BERTH_TLS_KEYSTORE", "/nowhere.p12", "BERTH_TLS_PASSWORD_FILE", password.toString())))
                .contains("tls.keystore: could not open /nowhere.p12")
                .doesNotContain("changeit");
    }

    @Test
    void readsSecretsFromFiles() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "x".repeat(32) + "\n");
        assertThat(read(Map.of("BERTH_PREVIEW_SECRET_FILE", secret.toString())).get(Settings.PREVIEW_SECRET_FILE))
                .contains("x".repeat(32));
        Files.writeString(secret, "short");
        assertThat(problems(Map.of("BERTH_PREVIEW_SECRET_FILE", secret.toString())))
                .contains("too short")
                .doesNotContain("'short'");
        assertThat(problems(Map.of("BERTH_PREVIEW_SECRET_FILE", "/nowhere"))).contains("could not read /nowhere");
    }

    @Test
    void secretsHaveNoOptionAndDoNotPrintThemselves() {
        assertThat(Settings.ALL.stream().filter(Setting::secret))
                .allMatch(it -> it.flag().isEmpty());
        Values values = read(Map.of("BERTH_API_KEY", "a-key-of-my-own-choice-1234"));
        assertThat(values.toString()).doesNotContain("choice");
        assertThat(new ServerSettings(values).toString()).doesNotContain("choice");
    }

    @Test
    void namesAndVariablesAreUnique() {
        List<String> all = Settings.ALL.stream()
                .flatMap(it ->
                        Stream.concat(Stream.of(it.env()), it.aliases().stream().map(Setting.Alias::variable)))
                .toList();
        assertThat(all).doesNotHaveDuplicates();
        assertThat(Settings.BY_NAME).hasSameSizeAs(Settings.ALL);
    }

    @Test
    void refusesUnknownNamesInCodeToo() {
        assertThatThrownBy(() -> Values.of(Map.of("prot", "1")))
                .hasMessageContaining("there is no setting prot; did you mean port?");
    }

    private static Setting<?> setting(String name) {
        return Objects.requireNonNull(Settings.BY_NAME.get(name));
    }

    private static Values read(Map<String, String> env, String... words) {
        return Values.read(UP.parse(List.of(words)), env);
    }

    private static String problems(Map<String, String> env, String... words) {
        Throwable thrown = catchThrowable(() -> read(env, words));
        assertThat(thrown).isInstanceOf(SandboxException.class);
        assertThat(((SandboxException) thrown).code()).isEqualTo(ErrorCode.INVALID);
        return String.valueOf(thrown.getMessage());
    }

    private Path file(String yaml) throws IOException {
        return Files.writeString(Files.createTempFile(directory, "berth", ".yaml"), yaml);
    }

    private static String quoted(String text) {
        return "'" + text + "'";
    }
}
