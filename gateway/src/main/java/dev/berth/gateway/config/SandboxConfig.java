package dev.berth.gateway.config;

import dev.berth.sandbox.Limits;
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

/**
 * What a named configuration says, as its owner wrote it; what is not said is null. Shapes and ranges are the contract's;
 * here is what only makes sense together.
 */
public record SandboxConfig(
        @Nullable String provider,
        @Nullable Boolean internet,
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

    /** Fails with everything that is wrong with it. */
    public void check(String localProvider) {
        List<String> problems = new ArrayList<>();
        if (provider != null && !provider.equals(localProvider)) {
            problems.add(
                    NOT_YET.contains(provider)
                            ? "provider: '" + provider + "' is not set up on this server; there is '" + localProvider
                                    + "'"
                            : "provider: there is no '" + provider + "'; there is '" + localProvider + "'");
        }
        if (internet != null && internet) {
            problems.add("internet: sandboxes of this server have no network yet; leave it out or set it to false");
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
                        dev.berth.sandbox.Network.NONE,
                        envVars,
                        Map.of());
            } catch (SandboxException e) {
                problems.add("envVars: " + e.getMessage());
            }
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with("errors", problems);
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
        return spec.withLimits(limits)
                .withIdle(idle)
                .withEnv(Optional.ofNullable(envVars).orElse(Map.of()));
    }
}
