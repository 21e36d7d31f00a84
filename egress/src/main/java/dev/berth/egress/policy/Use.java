package dev.berth.egress.policy;

/**
 * A secret was put into a request.
 *
 * @param path without its query
 * @param status of the answer
 */
public record Use(String secret, Target target, String method, String path, int status) {}
