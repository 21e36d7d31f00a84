package dev.berth.gateway.auth;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import dev.berth.sandbox.SandboxException;
import java.net.MalformedURLException;
import java.text.ParseException;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tokens of an OIDC issuer, verified with its published keys. Only signatures by the issuer's private key count: no
 * shared secrets, and never {@code none}.
 */
public final class OidcTokens implements Authenticator {
    private static final Logger LOG = LoggerFactory.getLogger(OidcTokens.class);
    private static final Set<JWSAlgorithm> ALGORITHMS = Set.of(
            JWSAlgorithm.RS256,
            JWSAlgorithm.RS384,
            JWSAlgorithm.RS512,
            JWSAlgorithm.PS256,
            JWSAlgorithm.ES256,
            JWSAlgorithm.ES384);

    private final OidcConfig config;
    private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();

    public OidcTokens(OidcConfig config) {
        this.config = config;
        try {
            JWKSource<SecurityContext> keys = JWKSourceBuilder.create(
                            config.jwks().toURL())
                    .retrying(true)
                    .outageTolerant(java.time.Duration.ofHours(1).toMillis())
                    .build();
            processor.setJWSKeySelector(new JWSVerificationKeySelector<>(ALGORITHMS, keys));
        } catch (MalformedURLException e) {
            throw SandboxException.invalid("the address of the issuer's keys is none: " + config.jwks());
        }
        processor.setJWTClaimsSetVerifier(new DefaultJWTClaimsVerifier<>(
                config.audience(),
                new JWTClaimsSet.Builder().issuer(config.issuer()).build(),
                Set.of("exp", "sub")));
    }

    @Override
    public Optional<Caller> caller(String credential) {
        if (credential.chars().filter(c -> c == '.').count() != 2) {
            return Optional.empty();
        }
        try {
            JWTClaimsSet claims = processor.process(credential, null);
            return tenant(claims)
                    .map(tenant -> new Caller("oidc:" + claims.getSubject(), tenant, isAdmin(claims), Scope.ALL));
        } catch (ParseException | BadJOSEException e) {
            return Optional.empty();
        } catch (JOSEException e) {
            LOG.warn("could not check a token: {}", e.getMessage());
            throw SandboxException.unavailable(
                    "the keys of the token's issuer cannot be had right now; try again later");
        }
    }

    /** As tenants are spelled: lower case, and dashes for what else is in a claim. */
    private Optional<String> tenant(JWTClaimsSet claims) {
        Object claim = claims.getClaim(config.tenantClaim());
        String name = claim instanceof String text && !text.isEmpty() ? text : claims.getSubject();
        String tenant = name.toLowerCase(Locale.ROOT);
        return tenant.matches("[a-z0-9][a-z0-9-]{0,62}") ? Optional.of(tenant) : Optional.empty();
    }

    private boolean isAdmin(JWTClaimsSet claims) {
        try {
            return config.adminRole().isPresent()
                    && claims.getStringListClaim("roles") != null
                    && claims.getStringListClaim("roles")
                            .contains(config.adminRole().get());
        } catch (ParseException e) {
            return false;
        }
    }
}
