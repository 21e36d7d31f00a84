package dev.berth.agent;

import dev.berth.sandbox.Sandbox;
import java.util.Optional;

/**
 * Where an agent works.
 *
 * @param workspace absolute path in the sandbox
 * @param conversation what {@link Agent#conversation} said the last time
 * @param transcript the conversation so far as the runtime wrote it, for a sandbox that has lost it
 */
public record Station(
        Sandbox sandbox,
        String workspace,
        Optional<String> conversation,
        Optional<byte[]> transcript,
        AgentConfig config) {}
