/**
 * Who asks: API keys, the operator's key and tokens of an OIDC issuer, and how much each may ask for.
 *
 * <p>A tenant comes from a credential and from nowhere else.
 */
@NullMarked
package dev.berth.gateway.auth;

import org.jspecify.annotations.NullMarked;
