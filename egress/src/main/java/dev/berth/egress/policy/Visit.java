package dev.berth.egress.policy;

import java.util.Optional;

/**
 * One connection or request that a program inside made, and what became of it.
 *
 * @param target what it asked for
 * @param refused why it did not pass, or broke off; empty if all went well
 * @param sent bytes to the target
 * @param received bytes from it
 */
public record Visit(Target target, Optional<Refusal.Reason> refused, String detail, long sent, long received) {}
