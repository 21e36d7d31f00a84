package dev.berth.gateway.auth;

import static org.assertj.core.api.Assertions.assertThat;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tokens of an issuer that publishes its keys over HTTP, as a real one does. */
class OidcTokensTest {
    private static final String ISSUER = "https://issuer.example";

    private static HttpServer issuer;
    private static RSAKey key;
    private static RSAKey stranger;
    private static OidcTokens tokens;

    @BeforeAll
    static void start() throws Exception {
        key = new RSAKeyGenerator(2048).keyID("one").generate();
        stranger = new RSAKeyGenerator(2048).keyID("one").generate();
        byte[] published = new JWKSet(key.toPublicJWK()).toString().getBytes(StandardCharsets.UTF_8);
        issuer = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        issuer.createContext("/jwks", exchange -> {
            exchange.sendResponseHeaders(200, published.length);
            exchange.getResponseBody().write(published);
            exchange.close();
        });
        issuer.start();
        tokens = new OidcTokens(new OidcConfig(
                ISSUER,
                URI.create("http://127.0.0.1:" + issuer.getAddress().getPort() + "/jwks"),
                "berth",
                "tenant",
                Optional.of("berth-admin")));
    }

    @AfterAll
    static void stop() {
        issuer.stop(0);
    }

    private static JWTClaimsSet.Builder claims() {
        return new JWTClaimsSet.Builder()
                .issuer(ISSUER)
                .audience("berth")
                .subject("ann")
                .claim("tenant", "acme")
                .expirationTime(Date.from(Instant.now().plusSeconds(60)));
    }

    private static String sign(RSAKey by, JWTClaimsSet claims) throws Exception {
        return sign(new RSASSASigner(by), JWSAlgorithm.RS256, claims);
    }

    private static String sign(JWSSigner signer, JWSAlgorithm algorithm, JWTClaimsSet claims) throws Exception {
        SignedJWT jwt =
                new SignedJWT(new JWSHeader.Builder(algorithm).keyID("one").build(), claims);
        jwt.sign(signer);
        return jwt.serialize();
    }

    @Test
    void theTenantComesFromTheTokensClaim() throws Exception {
        Caller caller = tokens.caller(sign(key, claims().build())).orElseThrow();
        assertThat(caller.tenant()).isEqualTo("acme");
        assertThat(caller.name()).isEqualTo("oidc:ann");
        assertThat(caller.admin()).isFalse();
        assertThat(tokens.caller(sign(key, claims().claim("tenant", null).build()))
                        .orElseThrow()
                        .tenant())
                .isEqualTo("ann");
    }

    @Test
    void anOperatorHasTheRole() throws Exception {
        assertThat(tokens.caller(sign(
                                key,
                                claims().claim("roles", List.of("x", "berth-admin"))
                                        .build()))
                        .orElseThrow()
                        .admin())
                .isTrue();
    }

    @Test
    void whatIsNotTheIssuersIsNotBelieved() throws Exception {
        JWTClaimsSet good = claims().build();
        assertThat(tokens.caller(sign(stranger, good))).as("another's key").isEmpty();
        assertThat(tokens.caller(new PlainJWT(good).serialize()))
                .as("no signature")
                .isEmpty();
        byte[] publicKey = key.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8);
        assertThat(tokens.caller(sign(new MACSigner(publicKey), JWSAlgorithm.HS256, good)))
                .as("the public key used as a secret")
                .isEmpty();
        assertThat(tokens.caller(sign(key, claims().issuer("https://else").build())))
                .isEmpty();
        assertThat(tokens.caller(sign(key, claims().audience("other").build()))).isEmpty();
        assertThat(tokens.caller(sign(
                        key,
                        claims().expirationTime(Date.from(Instant.now().minusSeconds(3600)))
                                .build())))
                .isEmpty();
        assertThat(tokens.caller(sign(key, claims().expirationTime(null).build())))
                .isEmpty();
        assertThat(tokens.caller(sign(key, claims().claim("tenant", "../other").build())))
                .isEmpty();
        String signed = sign(key, good);
        assertThat(tokens.caller(signed.substring(0, signed.length() - 4) + "AAAA"))
                .isEmpty();
        assertThat(tokens.caller("a.b.c")).isEmpty();
        assertThat(tokens.caller("berth_key")).isEmpty();
    }
}
