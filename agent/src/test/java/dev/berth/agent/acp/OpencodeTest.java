package dev.berth.agent.acp;

import dev.berth.agent.AgentRuntime;

/** OpenCode over pipes. */
class OpencodeTest extends OpencodeContract {
    @Override
    protected AgentRuntime runtime() {
        return AcpRuntime.opencode();
    }
}
