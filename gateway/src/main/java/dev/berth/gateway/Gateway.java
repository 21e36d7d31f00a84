package dev.berth.gateway;

import dev.berth.gateway.api.ConfigApi;
import dev.berth.gateway.api.KeyApi;
import dev.berth.gateway.api.ServerApi;
import dev.berth.gateway.api.SessionApi;
import dev.berth.gateway.api.TenantApi;
import dev.berth.gateway.auth.AdminKey;
import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.auth.Authenticator;
import dev.berth.gateway.auth.OidcConfig;
import dev.berth.gateway.auth.OidcTokens;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.config.SandboxConfigs;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.HttpServer;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The API, listening. */
public final class Gateway implements AutoCloseable {
    private final HttpServer server;
    private final ApiKeys keys;

    private Gateway(HttpServer server, ApiKeys keys) {
        this.server = server;
        this.keys = keys;
    }

    public static Gateway start(
            ServerConfig config,
            Sessions sessions,
            Database database,
            BooleanSupplier providerWell,
            PrometheusMeterRegistry meters,
            String adminKey,
            RateLimits rates,
            Sealer sealer,
            Optional<OidcConfig> oidc,
            String provider) {
        Contract contract = Contract.load();
        ApiKeys keys = new ApiKeys(database);
        Map<String, Endpoint> endpoints = new HashMap<>();
        endpoints.putAll(new ServerApi(database, providerWell, meters, contract).endpoints());
        endpoints.putAll(new SessionApi(sessions).endpoints());
        endpoints.putAll(new ConfigApi(new SandboxConfigs(database, sealer), sessions, contract, provider).endpoints());
        endpoints.putAll(new KeyApi(keys).endpoints());
        endpoints.putAll(new TenantApi(sessions).endpoints());
        Authenticator own = Authenticator.firstOf(new AdminKey(adminKey), keys);
        Authenticator who = oidc.<Authenticator>map(issuer -> Authenticator.firstOf(own, new OidcTokens(issuer)))
                .orElse(own);
        return new Gateway(HttpServer.start(config, contract, endpoints, who, rates, meters), keys);
    }

    public int port() {
        return server.port();
    }

    public ApiKeys keys() {
        return keys;
    }

    @Override
    public void close() {
        server.close();
    }
}
