package dev.berth.sandbox.local.template;

import static dev.berth.sandbox.local.template.TestingTemplates.run;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Builds the template agent for real, unless this machine has it from an earlier run. */
class AgentTemplateTest {
    private static Template agent;

    @BeforeAll
    static void build() {
        agent = TestingTemplates.agent();
    }

    @Test
    void hasTheAgentsAndWhatTheyReachFor() throws IOException {
        assertThat(
                        run(
                                agent,
                                "for p in pi sandbox-agent git rg fd python3 flock; do command -v $p >/dev/null || echo missing $p; done"))
                .isEmpty();
        assertThat(run(agent, "pi --version; node --version; sandbox-agent --version"))
                .isEqualTo("1.5.0\nv22.23.3\nsandbox-agent 0.4.2");
    }

    @Test
    void runsCommandsAsTheUserOfBase() throws IOException {
        assertThat(run(agent, "id -un; pwd")).isEqualTo("user\n/home/user");
        assertThat(agent.sudo()).isTrue();
    }
}
