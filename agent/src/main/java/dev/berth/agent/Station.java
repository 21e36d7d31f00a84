package dev.berth.agent;

import dev.berth.sandbox.Sandbox;

/**
 * Where an agent works.
 *
 * @param workspace absolute path in the sandbox
 */
public record Station(Sandbox sandbox, String workspace, Past past, AgentConfig config) {}
