package dev.berth.gateway.auth;

import java.net.URI;
import java.util.Optional;

/**
 * Whose tokens are believed.
 *
 * @param issuer what {@code iss} has to be
 * @param jwks where the issuer's public keys are
 * @param audience what {@code aud} has to contain
 * @param tenantClaim which claim names the tenant; {@code sub} if a token has none
 * @param adminRole the value in the claim {@code roles} that makes an operator; nobody if empty
 */
public record OidcConfig(String issuer, URI jwks, String audience, String tenantClaim, Optional<String> adminRole) {}
