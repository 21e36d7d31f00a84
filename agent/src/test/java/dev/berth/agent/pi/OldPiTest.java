package dev.berth.agent.pi;

import dev.berth.sandbox.local.template.TestingTemplates;

/** The last pi under its old name: it does not say when a run is over, and cannot forget what is queued. */
class OldPiTest extends PiContract {
    private static final String TEMPLATE = """
            from agent
            run mkdir /opt/pi && cd /opt/pi \\
              && npm install --ignore-scripts --no-audit --no-fund @mariozechner/pi-coding-agent@0.73.1 \\
              && ln -sf /opt/pi/node_modules/.bin/pi /usr/local/bin/pi && rm -rf /root/.npm \\
              && pi --version 2>&1 | grep -x 0.73.1
            """;

    @Override
    String template() {
        TestingTemplates.agent();
        return TestingTemplates.build("agent-pi-old", TEMPLATE).id();
    }
}
