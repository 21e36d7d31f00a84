package dev.berth.agent.sandboxagent;

import dev.berth.agent.AgentRuntime;
import dev.berth.agent.acp.OpencodeContract;

/** OpenCode behind sandbox-agent. */
class SandboxAgentTest extends OpencodeContract {
    @Override
    protected AgentRuntime runtime() {
        return new SandboxAgentRuntime();
    }
}
