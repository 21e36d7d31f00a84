package dev.berth.agent.pi;

import dev.berth.sandbox.local.template.TestingTemplates;

/** The pi that the template agent has. */
class PiTest extends PiContract {
    @Override
    String template() {
        return TestingTemplates.agent().id();
    }
}
