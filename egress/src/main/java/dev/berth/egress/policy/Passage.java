package dev.berth.egress.policy;

import dev.berth.sandbox.Connection;

/**
 * A connection from a program inside, with what is known of its sandbox.
 *
 * @param connection what was read of its input to find out what it is has been pushed back
 */
public record Passage(Policy policy, Account account, Connection connection) {}
