package dev.berth.gateway.config;

import dev.berth.gateway.egress.NetworkJson;
import dev.berth.gateway.egress.Networks;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.IdlePolicy;
import dev.berth.session.PermissionMode;
import dev.berth.session.SessionSpec;
import dev.berth.tool.Language;
import dev.berth.tool.ToolSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a named configuration says, as its owner wrote it; what is not said is null. Shapes and ranges are the contract's;
 * here is what only makes sense together.
 */
public record SandboxConfig(
        @Nullable String provider,
        @Nullable Boolean internet,
        @Nullable JsonNode network,
        @Nullable String permissionMode,
        @Nullable List<String> runtimes,
        @Nullable Integer timeout,
        @Nullable Integer memoryLimit,
        @Nullable Integer outputLimitBytes,
        @Nullable Map<String, String> envVars,
        @Nullable Boolean persistent,
        @Nullable Lifecycle lifecycle,
        @Nullable Options options) {

    /** How long a persistent sandbox lives. */
    public record Lifecycle(
            @Nullable Integer idleTimeoutSeconds, @Nullable Integer maxLifetimeSeconds) {}

    /** What else a provider may be told. */
    public record Options(
            @Nullable String template,
            @Nullable Integer diskGb,
            @Nullable Double cpus) {}

    private static final Set<String> NOT_YET = Set.of("lambda", "e2b", "daytona", "kubernetes", "docker");

    public SandboxConfig {
        envVars = envVars == null ? null : Map.copyOf(envVars);
        runtimes = runtimes == null ? null : List.copyOf(runtimes);
    }

    /**
     * Fails with everything that is wrong with it.
     *
     * @param tenant whose it is
     */
    public void check(String localProvider, String tenant, Networks networks) {
        List<String> problems = new ArrayList<>();
        if (provider != null && !provider.equals(localProvider)) {
            problems.add(
                    NOT_YET.contains(provider)
                            ? "provider: '" + provider + "' is not set up on this server; there is '" + localProvider
                                    + "'"
                            : "provider: there is no '" + provider + "'; there is '" + localProvider + "'");
        }
        if (internet != null && network != null) {
            problems.add("internet: the same is said by network; leave one of them out");
        }
        Optional<SandboxException> unsupported = Optional.empty();
        try {
            if (network != null) {
                networks.read(tenant, network, "network.");
            } else if (internet != null && internet) {
                networks.requireSupported(Network.OPEN);
            }
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.UNSUPPORTED) {
                unsupported = Optional.of(e);
                problems.add((network == null ? "internet: " : "network.mode: ") + e.getMessage());
            } else {
                problems.addAll(NetworkJson.errors(e));
            }
        }
        if (lifecycle != null && (persistent == null || !persistent)) {
            problems.add(
                    "lifecycle: makes sense for persistent sandboxes only; set persistent to true or leave it out");
        }
        if (envVars != null) {
            try {
                SessionSpec.DEFAULT.withEnv(envVars);
                new dev.berth.sandbox.SandboxSpec(
                        new dev.berth.sandbox.SandboxId("x"),
                        dev.berth.sandbox.Origin.template("x"),
                        Limits.DEFAULT,
                        Network.NONE,
                        envVars,
                        Map.of());
            } catch (SandboxException e) {
                problems.add("envVars: " + e.getMessage());
            }
        }
        if (unsupported.isPresent() && problems.size() == 1) {
            throw unsupported.get();
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with(SandboxException.ERRORS, problems);
        }
    }

    public PermissionMode mode() {
        return permissionMode == null ? PermissionMode.ASK : PermissionMode.parse(permissionMode);
    }

    public boolean isPersistent() {
        return persistent != null && persistent;
    }

    /** How the calls in its sandboxes are run: as the server has it, where nothing else is said. */
    public ToolSettings tools(ToolSettings base) {
        Set<Language> languages = EnumSet.noneOf(Language.class);
        if (runtimes != null) {
            runtimes.forEach(name -> languages.add(Language.parse(name)));
        }
        return new ToolSettings(
                timeout == null ? base.timeout() : Duration.ofSeconds(timeout),
                base.longestTimeout(),
                outputLimitBytes == null ? base.outputBytes() : outputLimitBytes,
                languages.isEmpty() ? base.languages() : languages,
                base.env(),
                base.readOnly());
    }

    /** What its sandboxes are made like. */
    public SessionSpec spec(SessionSpec defaults) {
        Limits limits = defaults.limits();
        if (memoryLimit != null) {
            limits = limits.withMemory(memoryLimit * (1L << 20));
        }
        SessionSpec spec = defaults;
        if (options != null) {
            limits = options.diskGb() == null ? limits : limits.withDisk(options.diskGb() * (1L << 30));
            limits = options.cpus() == null ? limits : limits.withCpus(options.cpus());
            spec = options.template() == null ? spec : spec.withTemplate(options.template());
        }
        IdlePolicy idle = defaults.idle();
        if (lifecycle != null) {
            Integer pause = lifecycle.idleTimeoutSeconds();
            Integer end = lifecycle.maxLifetimeSeconds();
            idle = pause == null ? idle : idle.pauseAfter(Duration.ofSeconds(pause));
            idle = end == null ? idle : idle.lifetime(Duration.ofSeconds(end));
        }
        if (network != null) {
            spec = spec.withNetwork(NetworkJson.read(network));
        } else if (internet != null) {
            spec = spec.withNetwork(internet ? Network.OPEN : Network.NONE);
        }
        return spec.withLimits(limits)
                .withIdle(idle)
                .withEnv(Optional.ofNullable(envVars).orElse(Map.of()));
    }
}
