/**
 * HTTP itself: the server, routes as the contract ({@code openapi.yaml}) has them, bodies checked against it, and failures
 * as RFC 9457 problems. The only package that knows the framework underneath.
 */
@NullMarked
package dev.berth.gateway.http;

import org.jspecify.annotations.NullMarked;
