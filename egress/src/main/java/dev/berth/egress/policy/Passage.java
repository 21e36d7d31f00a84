package dev.berth.egress.policy;

import dev.berth.sandbox.Connection;

/**
 * One connection out of a sandbox, with what decides over it and counts it.
 *
 * @param connection its input may hold bytes that were read and pushed back
 */
public record Passage(Policy policy, Account account, Connection connection) {}
